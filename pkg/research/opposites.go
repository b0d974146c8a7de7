package research

import (
	"strings"
	"sync"
)

// opposites are words of which a claim may not hold one where the page has the
// other. Forms of a word count as the word.
const opposites = `enable/disable increase/decrease increase/lower minimum/maximum always/never allow/deny allow/forbid allow/prohibit require/optional
	mandatory/optional true/false support/unsupported synchronous/asynchronous mutable/immutable gain/lose gain/loss north/south east/west
	northern/southern eastern/western ascending/descending inclusive/exclusive signed/unsigned open/close win/lose won/lost win/defeat accept/reject
	accept/refuse accept/decline approve/reject add/remove include/exclude import/export lock/unlock public/private internal/external inside/outside
	indoors/outdoors earlier/later earliest/latest first/last more/less more/fewer most/least most/fewest left/right upper/lower
	connect/disconnect push/pull encrypt/decrypt compress/decompress input/output read/write upload/download parent/child success/failure
	succeed/fail pass/fail profit/loss buy/sell arrive/depart arrival/departure morning/evening morning/afternoon summer/winter spring/autumn
	weekday/weekend local/remote local/global valid/invalid visible/hidden present/absent known/unknown dependent/independent
	reversible/irreversible sequential/parallel temporary/permanent automatic/manual automatically/manually sensitive/insensitive
	positive/negative better/worse best/worst strengthen/weaken improve/worsen improve/spoil rise/fall common/rare frequent/rare often/rarely
	expand/contract always/sometimes always/rarely also/only attack/defend raw/cooked above/below upwards/downwards upstream/downstream
	inbound/outbound incoming/outgoing create/destroy begin/end start/stop start/end advance/retreat allow/block attach/detach join/leave
	encourage/discourage agree/disagree appear/disappear single/multiple singular/plural horizontal/vertical clockwise/anticlockwise
	inner/outer front/back front/rear forwards/backwards legal/illegal possible/impossible complete/incomplete stable/unstable
	import/export majority/minority loser/winner victory/defeat retain/discard keep/drop tighten/loosen widen/narrow lengthen/shorten
	heat/cool warm/cool praise/criticise refrigerate/freeze odd/even even/uneven lend/borrow`

// grades are pairs of adjectives that are opposites in each degree: old, older,
// oldest.
const grades = `old/young old/new high/low fast/slow large/small big/small long/short early/late warm/cold hot/cold wet/dry hard/soft hard/easy
	strong/weak heavy/light thick/thin deep/shallow wide/narrow broad/narrow rich/poor full/empty cheap/dear cheap/expensive safe/dangerous good/bad
	sweet/sour bright/dark near/far loud/quiet rough/smooth sharp/blunt clean/dirty tight/loose steep/gentle tall/short great/small
	simple/complex`

var oppositeTerms = sync.OnceValue(func() [][2]string {
	var out [][2]string
	add := func(a, b string) {
		if x, y := newToken(a, 0).term, newToken(b, 0).term; x != y {
			out = append(out, [2]string{x, y}, [2]string{y, x})
		}
	}
	for pair := range strings.FieldsSeq(opposites) {
		a, b, _ := strings.Cut(pair, "/")
		add(a, b)
	}
	for pair := range strings.FieldsSeq(grades) {
		a, b, _ := strings.Cut(pair, "/")
		add(a, b)
		add(degree(a, "er"), degree(b, "er"))
		add(degree(a, "est"), degree(b, "est"))
	}
	return out
})

// degree puts an ending behind an adjective: dry, driest; wet, wettest; safe, safest.
func degree(adjective, ending string) string {
	n := len(adjective)
	vowel := func(i int) bool { return i >= 0 && strings.IndexByte("aeiou", adjective[i]) >= 0 }
	switch last := adjective[n-1]; {
	case last == 'e':
		return adjective + ending[1:]
	case last == 'y' && !vowel(n-2):
		return adjective[:n-1] + "i" + ending
	case n < 5 && last != 'w' && !vowel(n-1) && vowel(n-2) && !vowel(n-3):
		return adjective + string(last) + ending
	}
	return adjective + ending
}

var negations = wordSet(`not never no cannot none neither nor without isn't aren't doesn't don't didn't won't can't wasn't weren't couldn't shouldn't hasn't
	haven't wouldn't`)

// notWords deny without a "not": where one side has such a word, a missing "not"
// says nothing.
var notWords = wordSet(`lack fail refuse reject deny forbid prohibit prevent avoid exclude except only unless miss absent optional
	unnecessary empty zero ignore skip few hardly rarely unable impossible instead rather otherwise but disable remove unlike yet until beyond wait`)

// wordSet is a set of terms.
func wordSet(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for w := range strings.FieldsSeq(list) {
			set[newToken(w, 0).term] = true
		}
		return set
	})
}

// negated reports whether tokens deny something. "No more than six" and "never
// before" do not.
func negated(tokens []token) bool {
	for i, t := range tokens {
		if !negations()[t.term] {
			continue
		}
		switch wordAt(tokens, i+1) {
		case "more", "less", "fewer", "later", "earlier", "only", "before", "just", "matter":
			continue
		case "longer":
			if wordAt(tokens, i+2) == "than" {
				continue
			}
		}
		return true
	}
	return false
}

// impliesNot reports whether tokens may deny something without a "not".
func impliesNot(tokens []token) bool {
	for i, t := range tokens {
		raw := strings.ToLower(t.raw)
		un := strings.HasPrefix(raw, "un") && !strings.HasPrefix(raw, "under") && !strings.HasPrefix(raw, "uni")
		free := raw == "free" && (wordAt(tokens, i+1) == "of" && wordAt(tokens, i+2) != "charge" || wordAt(tokens, i+1) == "from")
		if notWords()[t.term] || free || len(raw) > 5 && (un || strings.HasSuffix(raw, "less")) {
			return true
		}
	}
	return false
}

// wordAt is the word at i in lower case, "" outside.
func wordAt(tokens []token, i int) string {
	if i < 0 || i >= len(tokens) {
		return ""
	}
	return strings.ToLower(tokens[i].raw)
}
