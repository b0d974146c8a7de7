package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"
)

// command is one node of the command line. A leaf has bind, a group has subs, and a group that does
// something by itself has both.
type command struct {
	name    string
	tool    string // name under which its runs are counted; "" for commands without runs
	args    string // how the arguments are written in the usage line
	short   string
	example string // lines of examples
	hidden  bool
	// min and max bound the number of arguments; max -1 is any.
	min, max int
	// bind declares the flags and returns what runs once they are parsed.
	bind func(fs *pflag.FlagSet) runFunc
	subs []*command
}

type runFunc func(ctx context.Context, a *app, args []string) error

// usageError is a command line that cannot be understood; usage follows it.
type usageError struct {
	path string // the command as it was reached, "legwork configure import"
	msg  string
}

func (e *usageError) Error() string { return e.msg }

// global are the flags every command knows.
type global struct {
	config string
	json   bool
	quiet  bool
}

func (g *global) bind(fs *pflag.FlagSet) {
	fs.StringVar(&g.config, "config", "", "use this configuration `FILE` in place of the project's")
	fs.BoolVar(&g.json, "json", false, "print the full result as one JSON object")
	fs.BoolVarP(&g.quiet, "quiet", "q", false, "no progress on stderr")
}

// errHelp says that help was asked for and printed.
var errHelp = errors.New("help")

// run walks down the tree and runs the command that args name. path is how cmd was reached.
func (cmd *command) run(ctx context.Context, a *app, path string, args []string) error {
	path = strings.TrimSpace(path + " " + cmd.name)
	word, before, after := cmd.next(args)
	if word == "help" && cmd.bind == nil {
		return cmd.run(ctx, a, strings.TrimSuffix(strings.TrimSuffix(path, cmd.name), " "), append(append(before, after...), "--help"))
	}
	for _, sub := range cmd.subs {
		if sub.name == word {
			return sub.run(ctx, a, path, append(before, after...))
		}
	}
	if word != "" && cmd.bind == nil {
		return &usageError{path, fmt.Sprintf("unknown command %q; known: %s", word, strings.Join(cmd.names(), ", "))}
	}
	fs := pflag.NewFlagSet(cmd.name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	var run runFunc
	if cmd.bind != nil {
		run = cmd.bind(fs)
	}
	own := fs.FlagUsages()
	a.global.bind(fs)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		cmd.help(a.stdout, path, own)
		return errHelp
	case err != nil:
		return &usageError{path, err.Error()}
	case run == nil:
		cmd.help(a.stdout, path, own)
		return errHelp
	case fs.NArg() < cmd.min:
		return &usageError{path, fmt.Sprintf("%s: missing argument: %s %s", cmd.name, path, cmd.args)}
	case cmd.max >= 0 && fs.NArg() > cmd.max:
		return &usageError{path, fmt.Sprintf("%s: unexpected argument %q (put text with blanks in quotes)", cmd.name, fs.Arg(cmd.max))}
	}
	if cmd.tool != "" {
		return a.counted(ctx, cmd.tool, args, func(ctx context.Context) error { return run(ctx, a, fs.Args()) })
	}
	return run(ctx, a, fs.Args())
}

// next finds the first word in args that is neither a global flag nor its value, where a command has
// sub-commands, and what stands before and after it.
func (cmd *command) next(args []string) (word string, before, after []string) {
	if len(cmd.subs) == 0 {
		return "", nil, nil
	}
	for i := 0; i < len(args); i++ {
		switch word := args[i]; {
		case word == "--":
			return "", nil, nil
		case word == "--config":
			i++
		case strings.HasPrefix(word, "-"):
			if cmd.bind != nil && cmd.takesValue(word) {
				i++
			}
		default:
			return word, append([]string{}, args[:i]...), args[i+1:]
		}
	}
	return "", nil, nil
}

// takesValue says that a flag of cmd's own is followed by its value.
func (cmd *command) takesValue(word string) bool {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.bind(fs)
	f := fs.Lookup(strings.TrimLeft(word, "-"))
	return f != nil && f.NoOptDefVal == ""
}

func (cmd *command) names() []string {
	var out []string
	for _, s := range cmd.subs {
		if !s.hidden {
			out = append(out, s.name)
		}
	}
	return out
}

// help prints the command's page.
func (cmd *command) help(w io.Writer, path, flags string) {
	usage := path
	switch {
	case len(cmd.subs) > 0 && cmd.bind != nil:
		usage += " [COMMAND]"
	case len(cmd.subs) > 0:
		usage += " COMMAND"
	}
	fmt.Fprintf(w, "Usage: %s\n\n%s\n", strings.TrimSpace(usage+" [flags] "+cmd.args), cmd.short)
	if len(cmd.subs) > 0 {
		fmt.Fprint(w, "\nCommands:\n")
		tw := tabwriter.NewWriter(w, 2, 2, 3, ' ', 0)
		for _, s := range cmd.subs {
			if !s.hidden {
				fmt.Fprintf(tw, "  %s\t%s\n", s.name, s.short)
			}
		}
		_ = tw.Flush()
	}
	if flags != "" {
		fmt.Fprintf(w, "\nFlags:\n%s", flags)
	}
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(global).bind(all)
	fmt.Fprintf(w, "\nFlags of every command:\n%s", all.FlagUsages())
	if cmd.example != "" {
		fmt.Fprintf(w, "\nExamples:\n  %s\n", strings.ReplaceAll(strings.TrimSpace(cmd.example), "\n", "\n  "))
	}
}
