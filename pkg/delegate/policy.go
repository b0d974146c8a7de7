package delegate

import (
	"path"
	"slices"
	"strings"
)

// policy is how attempts at a task are spent. The numbers of the default were measured with a 1.5B coder:
// a cold first try beats a warm one; a cold repair mostly gives the same bytes back; what is not solved at
// once or by one warm repair is hardly ever solved by more of the same.
type policy struct {
	name string
	// first, repair and fresh are the temperatures of the three kinds of turns.
	first, repair, fresh float64
	// repairs is how many repair turns may follow each other.
	repairs int
	// flat ends the work after so many further attempts in a row without a new green test; at least flatAsked when
	// the caller asked for a number of attempts.
	flat int
	// share paces the turns after the first, unless the caller asked for a number of attempts: all calls of a
	// model together stay below this share of what a plain loop would have made (see record). The first repair of
	// a near miss comes first: it may overdraw. 0: no pacing.
	share float64
	// blocks lets the model answer with search and replace blocks for files of at least so many bytes; 0: never.
	blocks int
	// mends lets rules put right what needs no model: see mendings.
	mends bool
	// converse keeps one growing conversation and repairs until the attempts are spent.
	converse bool
}

// policies is the table; settings name them in delegate.policy and models.<name>.policy.
func policies() []policy {
	return []policy{
		{name: "default", first: 0.2, repair: 0.6, fresh: 0.8, repairs: 1, flat: 1, share: 0.64, mends: true},
		{name: "strong", first: 0.2, repair: 0.3, fresh: 0.7, repairs: 3, flat: 2, blocks: 12_000, mends: true},
		{name: "sample", first: 0.2, repair: 0.6, fresh: 0.8, repairs: 0, flat: 10, mends: true},
		{name: "classic", first: 0.2, repair: 0.2, fresh: 0.2, repairs: 10, flat: 10, converse: true},
	}
}

const (
	flatAsked = 2
	overdraft = 1.0 // turns
)

// Policies are the names that delegate.policy takes.
func Policies() []string {
	var out []string
	for _, p := range policies() {
		out = append(out, p.name)
	}
	return out
}

// policyFor is the model's own policy, else the setting's.
func (c *call) policyFor(model string) policy {
	name := c.Config.Delegate.Policy
	for _, m := range c.Config.Models {
		if m.Policy != "" && (names(m.Name, model) || names(m.ServedName, model)) {
			name = m.Policy
		}
	}
	all := policies()
	i := slices.IndexFunc(all, func(p policy) bool { return p.name == name })
	if i < 0 {
		c.note("attempt policy %q is unknown (known: %s); the default is used", name, strings.Join(Policies(), ", "))
		i = 0
	}
	return all[i]
}

// names says that a name or glob of the settings means a served model.
func names(pattern, model string) bool {
	pattern, model = strings.ToLower(pattern), strings.ToLower(model)
	// A slash in an id is an ordinary character here.
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", ":"), strings.ReplaceAll(model, "/", ":"))
	return pattern != "" && (pattern == model || err == nil && ok)
}

// Kinds of turns.
const (
	kindFirst    = "first"    // the task alone
	kindFormat   = "format"   // the task again, with what was wrong with the form of the answer
	kindRepair   = "repair"   // the best candidate with executed facts
	kindFresh    = "fresh"    // the task again, with the rules that the red tests stand for
	kindConverse = "converse" // the conversation so far and the last failure
)

// plan decides the turns with one model.
type plan struct {
	policy
	asked   int    // answers so far
	judged  int    // of them, those that could be run
	last    string // kind of the last turn
	class   string // how it ended
	why     string // what was wrong, for the next turn
	repairs int    // in a row
	flat    int    // further attempts without a new green test, in a row
	stuck   bool   // the last repair gave known code back
	record  record // of the model, before this call
	freely  bool   // the caller asked for a number of attempts
}

// next names the kind and temperature of the coming turn.
func (p *plan) next(best *candidate) (kind string, temperature float64) {
	switch {
	case p.converse && p.asked > 0:
		return kindConverse, p.repair
	case unusable(p.class) && p.last == kindRepair && best != nil && p.policy.repairs > 0:
		return kindRepair, p.repair
	case unusable(p.class):
		return kindFormat, min(1, p.first+0.2*float64(p.asked))
	case best == nil && p.asked == 0:
		return kindFirst, p.first
	case best != nil && p.repairs < p.policy.repairs && !p.stuck:
		return kindRepair, p.repair
	}
	return kindFresh, p.fresh
}

// unusable says that an answer of this class was not run.
func unusable(class string) bool {
	return class == classFormat || class == classImport || class == classMeddle
}

// learn takes in how a turn ended; progress says that a test became green that never was.
func (p *plan) learn(kind string, f finding, progress bool) {
	p.asked++
	if !unusable(f.class) {
		p.judged++
	}
	p.last, p.class, p.why = kind, f.class, f.why
	p.repairs++
	if kind != kindRepair {
		p.repairs = 0
	}
	p.stuck = kind == kindRepair && f.class == classRepeat
	switch {
	case progress:
		p.flat = 0
	case p.asked > 1:
		p.flat++
	}
}

// over says why no further turn is worth its tokens; "" when one is.
func (p *plan) over(best *candidate) string {
	if p.converse {
		return ""
	}
	flat := p.policy.flat
	if p.freely {
		flat = max(flat, flatAsked)
	}
	if p.flat >= flat && p.class != classFormat {
		return "no new green test"
	}
	if p.flat > flat {
		return "no usable answer"
	}
	if p.share == 0 || p.freely || best == nil {
		return ""
	}
	need := 1.0 - float64(min(1, p.asked-p.judged)) // one answer that could not be run is no one's miss
	if best.near() && p.judged == 1 {
		need -= overdraft
	}
	if p.record.with(p).credit(p.share) < need {
		return "further turns of this model are not worth more (max_attempts asks for them)"
	}
	return ""
}
