package claudecode

import (
	"slices"
	"strings"
)

// gitRead are the git commands and flags the client runs without a rule. A flag that ends in = takes any value, -#
// is a number (-3).
var gitRead = map[string]string{
	"status":       "--ahead-behind --branch --ignored --long --no-renames --porcelain --short --untracked-files= -b -s -sb -v",
	"log":          "-# --abbrev-commit --after= --all --author= --before= --branches --cherry-pick --committer= --date= --decorate --diff-filter= --first-parent --follow --format= --graph --grep= --left-right --max-count= --merges --name-only --name-status --no-color --no-decorate --no-merges --numstat --oneline --patch --pickaxe-regex --pretty= --remotes --reverse --shortstat --since= --skip= --stat --tags --topo-order --until= -G -S -n -p -s",
	"diff":         "--binary --cached --check --color-words --diff-filter= --dirstat --exit-code --function-context --histogram --ignore-all-space --minimal --name-only --name-status --no-color --no-ext-diff --no-index --numstat --patience --quiet --shortstat --staged --stat --summary --word-diff -C -M -R -S -p -u",
	"show":         "--abbrev-commit --format= --name-only --name-status --no-patch --numstat --oneline --pretty= --raw --shortstat --stat -p -s",
	"blame":        "--date= --line-porcelain --porcelain -C -L -M -e -f -l -n -p -s -t -w",
	"rev-parse":    "--abbrev-ref --absolute-git-dir --git-common-dir --git-dir --is-inside-work-tree --short --show-cdup --show-prefix --show-toplevel --symbolic-full-name --verify",
	"ls-files":     "--cached --deleted --error-unmatch --exclude-standard --full-name --ignored --modified --others --stage -c -d -i -m -o -s -t -u -z",
	"grep":         "--and --break --cached --count --files-with-matches --heading --ignore-case --line-number --max-depth= --untracked -E -F -H -P -c -e -h -i -l -n -o -q -v -w",
	"describe":     "--abbrev= --always --candidates= --contains --dirty --exact-match --long --match= --tags",
	"shortlog":     "--all --group= --no-merges --numbered --since= --summary -c -e -n -s -sn -sne",
	"rev-list":     "--all --author= --count --max-count= --no-merges --oneline --reverse --since=",
	"for-each-ref": "--count= --format= --sort=",
	"cat-file":     "-e -p -s -t",
	"merge-base":   "--all --fork-point --independent --is-ancestor --octopus",
	"branch":       "--all --column --contains --list --merged --no-color --no-merged --remotes --show-current --sort= -a -av -r -v -vv",
	"tag":          "--contains --list --sort= -l",
	"reflog":       "-# --date= --oneline",
	"remote":       "-v",
	"config":       "--get",
	"stash":        "",
	"worktree":     "--porcelain",
}

// gitWords bounds the other arguments of commands that would do more with them: what must come first, and the
// flags with which names only filter.
var gitWords = map[string]struct {
	first   []string // "" for nothing at all
	filters []string
}{
	"branch":   {first: []string{""}, filters: []string{"--list", "--contains", "--merged", "--no-merged"}},
	"tag":      {first: []string{""}, filters: []string{"--list", "-l", "--contains"}},
	"reflog":   {first: []string{"", "show"}},
	"remote":   {first: []string{""}},
	"stash":    {first: []string{"list", "show"}},
	"worktree": {first: []string{"list"}},
}

// gitFree tells whether the client runs a git command without a rule, paths aside.
func gitFree(args []word) bool {
	if len(args) == 0 {
		return false
	}
	name := args[0].val
	list, ok := gitRead[name]
	if !ok {
		return false
	}
	allowed := strings.Fields(list)
	var words, flags []string
	plain := false
	for _, a := range args[1:] {
		switch {
		case a.glob:
			return false
		case plain || !strings.HasPrefix(a.val, "-"):
			words = append(words, a.val)
		case a.val == "--":
			plain = true
		case !gitFlag(allowed, a.val):
			return false
		default:
			flags = append(flags, a.val)
		}
	}
	if name == "config" {
		return slices.Equal(flags, []string{"--get"}) && len(words) == 1
	}
	if slices.Contains(flags, "--contains") && len(words) == 0 {
		return false
	}
	bound, ok := gitWords[name]
	if !ok || slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(bound.filters, f) }) {
		return true
	}
	first := ""
	if len(words) > 0 {
		first = words[0]
	}
	return slices.Contains(bound.first, first) && len(words) <= 1
}

func gitFlag(allowed []string, arg string) bool {
	name, _, valued := strings.Cut(arg, "=")
	if valued {
		name += "="
	}
	if matches(`^-\d+$`, arg) {
		name = "-#"
	}
	return slices.Contains(allowed, name)
}
