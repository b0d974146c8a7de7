package research

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// token is a word of a text, prepared for comparison.
type token struct {
	term  string // stem in lower case
	raw   string // as written
	start int    // byte offset
	name  bool   // a name or identifier by its spelling, not by its place in a sentence
	digit bool   // begins with a digit
}

// tokenize splits text into words. Letters and digits stay together where they
// form an identifier or a version; scripts without spaces give pairs of
// characters.
func tokenize(s string) []token {
	var out []token
	var lastWide rune
	lastEnd := -1
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case wide(r):
			if lastEnd == i {
				out = append(out, token{term: string(lastWide) + string(r), raw: string(r), start: i})
			} else if next, _ := utf8.DecodeRuneInString(s[i+size:]); !wide(next) {
				out = append(out, token{term: string(r), raw: string(r), start: i})
			}
			lastWide, lastEnd = r, i+size
			i += size
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			end := wordEnd(s, i)
			t := newToken(s[i:end], i)
			if end-i == 1 && option(s, i) {
				t.term = "-" + t.raw // -b and -B are two options
			}
			out = append(out, t)
			i = end
		default:
			i += size
		}
	}
	return out
}

// option reports whether the letter at i is an option of a command: "-b".
func option(s string, i int) bool {
	if i == 0 || s[i-1] != '-' || s[i] >= '0' && s[i] <= '9' {
		return false
	}
	return i == 1 || strings.IndexByte(" \t\n`[(|,'\"", s[i-2]) >= 0
}

func wide(r rune) bool {
	return r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x0E00 && r <= 0x0EFF
}

// wordEnd finds the end of the word at i. Dots, commas and apostrophes belong to
// it between digits (1.26.8, 1,000) or before letters of a contraction; other
// joints of identifiers end a word, so that parts can be compared.
func wordEnd(s string, i int) int {
	first := rune(s[i])
	number := first >= '0' && first <= '9'
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if wide(r) {
			return i
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			next, _ := utf8.DecodeRuneInString(s[i+size:])
			inNumber := number && (r == '.' || r == ',') && next >= '0' && next <= '9'
			inWord := (r == '\'' || r == '’') && unicode.IsLetter(next)
			if !inNumber && !inWord && (r != '_' || !unicode.IsLetter(next) && !unicode.IsDigit(next)) {
				return i
			}
		}
		// "5MB" and "30s" are a figure and a unit.
		if number && unicode.IsLetter(r) && !versionLetter(s, i) {
			return i
		}
		i += size
	}
	return i
}

// versionLetter keeps "1.2rc1" and hexadecimal names such as "3f2a" together.
func versionLetter(s string, i int) bool {
	j := i
	for j < len(s) && (s[j] >= 'a' && s[j] <= 'z' || s[j] >= 'A' && s[j] <= 'Z') {
		j++
	}
	return j < len(s) && s[j] >= '0' && s[j] <= '9'
}

func newToken(raw string, start int) token {
	lower := strings.ToLower(raw)
	if strings.ContainsAny(lower, "'’") {
		lower = strings.ReplaceAll(lower, "’", "'")
		lower = strings.TrimSuffix(strings.TrimSuffix(lower, "'s"), "'")
	}
	t := token{term: lower, raw: raw, start: start, digit: raw[0] >= '0' && raw[0] <= '9'}
	if !t.digit {
		base, ok := irregular()[lower]
		if !ok {
			base = lower
		}
		t.term = stem(base)
		if same, ok := synonyms()[t.term]; ok {
			t.term = same
		}
	}
	t.name = identifier(raw)
	return t
}

// irregular maps forms of verbs and nouns that no ending gives away.
var irregular = sync.OnceValue(func() map[string]string {
	forms := map[string]string{}
	for group := range strings.FieldsSeq(irregularForms) {
		base, rest, _ := strings.Cut(group, ":")
		for form := range strings.SplitSeq(rest, ",") {
			forms[form] = base
		}
	}
	return forms
})

const irregularForms = `keep:kept write:wrote,written take:took,taken run:ran build:built send:sent lose:lost hold:held find:found leave:left rise:rose,risen
	fall:fell,fallen grow:grew,grown begin:began,begun choose:chose,chosen draw:drew,drawn give:gave,given know:knew,known lead:led meet:met pay:paid see:saw,seen
	sell:sold show:shown spend:spent stand:stood tell:told think:thought win:won buy:bought bring:brought catch:caught come:came go:went,gone become:became
	break:broke,broken speak:spoke,spoken drive:drove,driven freeze:froze,frozen hide:hid,hidden mean:meant rebuild:rebuilt swear:sworn teach:taught
	throw:threw,thrown wear:wore,worn shrink:shrank,shrunk sink:sank,sunk feed:fed fight:fought seek:sought sleep:slept feel:felt deal:dealt dig:dug
	hang:hung stick:stuck strike:struck bind:bound steal:stole,stolen wake:woke ride:rode,ridden shoot:shot sit:sat beat:beaten eat:ate,eaten
	forget:forgot,forgotten hear:heard lend:lent bear:borne fly:flew,flown swim:swam sing:sang forbid:forbade,forbidden spin:spun shine:shone lay:laid bite:bit,bitten child:children person:people man:men woman:women index:indices datum:data
	january:jan february:feb march:mar april:apr june:jun july:jul august:aug september:sep,sept october:oct november:nov december:dec`

// synonyms joins words that writers of summaries swap for one another.
var synonyms = sync.OnceValue(func() map[string]string {
	same := map[string]string{}
	for group := range strings.FieldsSeq(synonymGroups) {
		head, rest, _ := strings.Cut(group, ":")
		for word := range strings.SplitSeq(rest, ",") {
			same[stem(word)] = stem(head)
		}
	}
	return same
})

const synonymGroups = `start:begin,commence,launch remove:discard,drop,delete,eliminate reduce:lower,cut,decrease,shrink increase:raise,grow,rise
	need:require keep:hold,retain config:configuration,configure,setting,settings max:maximum min:minimum folder:directory allow:permit,let
	show:display choose:select,pick help:assist buy:purchase end:finish,terminate fast:quick,rapid big:large,huge tall:high method:approach
	visible:seen build:construct get:obtain,acquire change:modify,alter fix:repair,patch main:primary`

// parts are the words inside an identifier: max_retries, maxRetries.
func (t token) parts() []string {
	if !t.name || t.digit {
		return nil
	}
	var out []string
	start := 0
	runes := []rune(t.raw)
	flush := func(end int) {
		if word := strings.ToLower(string(runes[start:end])); len(word) > 1 && end-start < len(runes) {
			out = append(out, stem(word))
		}
	}
	for i, r := range runes {
		switch {
		case r == '_':
			flush(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && unicode.IsLower(runes[i-1]):
			flush(i)
			start = i
		}
	}
	flush(len(runes))
	return out
}

// identifier reports whether a spelling is that of a name in code or an acronym.
func identifier(s string) bool {
	upper, lower, other := 0, 0, 0
	inner := false
	for i, r := range s {
		switch {
		case unicode.IsUpper(r):
			upper++
			inner = inner || i > 0
		case unicode.IsLower(r):
			lower++
		case r == '_' || unicode.IsDigit(r):
			other++
		}
	}
	return upper+lower > 0 && (inner || other > 0)
}

// stem brings the forms of an English word together; other languages lose at
// most an ending. It errs on the side of joining.
func stem(w string) string {
	if len(w) < 4 {
		return w
	}
	for _, rule := range stemRules {
		base, ok := strings.CutSuffix(w, rule.suffix)
		if !ok {
			continue
		}
		if len(base) < rule.keep || rule.suffix == "s" && strings.ContainsAny(base[len(base)-1:], "sui") {
			continue
		}
		w = base + rule.put
		break
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsAny(w[n-1:], "lsz") {
		w = w[:n-1]
	}
	if len(w) > 4 {
		w = strings.TrimSuffix(w, "e")
	}
	if base, ok := strings.CutSuffix(w, "y"); ok && len(base) > 2 {
		w = base + "i"
	}
	return w
}

// stemRules are tried in order; the first that fits is applied.
var stemRules = []struct {
	suffix, put string
	keep        int
}{
	{"izations", "iz", 3},
	{"ization", "iz", 3},
	{"isations", "iz", 3},
	{"isation", "iz", 3},
	{"ations", "", 4},
	{"ation", "", 4},
	{"nesses", "", 4},
	{"ments", "", 4},
	{"ment", "", 4},
	{"ness", "", 4},
	{"ically", "ic", 3},
	{"ising", "iz", 3},
	{"izing", "iz", 3},
	{"ised", "iz", 3},
	{"ized", "iz", 3},
	{"ises", "iz", 3},
	{"izes", "iz", 3},
	{"ise", "iz", 4},
	{"ize", "iz", 4},
	{"tions", "t", 3},
	{"tion", "t", 3},
	{"sions", "s", 3},
	{"sion", "s", 3},
	{"ances", "", 4},
	{"ance", "", 4},
	{"ences", "", 4},
	{"ence", "", 4},
	{"ables", "", 4},
	{"able", "", 4},
	{"ies", "y", 2},
	{"ied", "y", 2},
	{"ings", "", 3},
	{"ing", "", 3},
	{"edly", "", 4},
	{"sses", "ss", 2},
	{"xes", "x", 2},
	{"ches", "ch", 2},
	{"shes", "sh", 2},
	{"ers", "", 4},
	{"ors", "", 5},
	{"er", "", 4},
	{"or", "", 5},
	{"ed", "", 3},
	{"ly", "", 4},
	{"s", "", 3},
}

// stopWords carry no claim of their own.
var stopWords = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(stopList) {
		set[w] = true
	}
	return set
})

const stopList = `a an the and or but nor so yet if then else than that this these those there here it its itself they them their theirs he him his she her
	hers we us our you your i me my who whom whose which what when where why how is are was were be been being am do does did done doing have has had having will
	would shall should can could may might must of in on at by for from to into onto with within without about above below over under between among through during
	before after since until while as per via up down out off not no also only just even very more most much many some any each every both either neither other
	others another such same own however therefore thus hence because due according said says say states stated state note notes noted using used use uses one
	page pages source sources article document documentation mentions mentioned according described describes provide provides provided include includes included
	run runs ran running go goes going take takes taken give gives given come comes become becomes work works working want wants put puts
	including make makes made get gets got like well still often usually typically generally currently now today new et al eg ie etc vs`

// content reports whether a token can carry a claim.
func (t token) content() bool {
	if t.digit {
		return true
	}
	return utf8.RuneCountInString(t.term) > 1 && !stopWords()[strings.ToLower(t.raw)]
}
