package cli

import (
	"strings"
	"testing"
)

type grammar struct {
	Greet greetCommand `cmd:"" help:"Greet."`
	Common
}

type greetCommand struct {
	Loudly bool `help:"With force."`
}

func (greetCommand) Run() error { return nil }

func TestAMistakeIsToldFirstAndTheUsageWhenAsked(t *testing.T) {
	for _, c := range []struct {
		args     string
		status   int
		out, err string
	}{
		{"greet --loudli", 2, "", "x: unknown flag --loudli, did you mean \"--loudly\"?\nTry \"x --help\".\n"},
		{"greeet", 2, "", "x: unexpected argument greeet, did you mean \"greet\"?\nTry \"x --help\".\n"},
		{"greet", 0, "", ""},
		{"version", 0, "x 1.2", ""},
		{"version", 0, "OpenStack Ironic 39", ""},
	} {
		var out, complaints strings.Builder
		status := run(t.Context(), strings.Fields(c.args), &out, &complaints, "x", "A program.", "1.2", &grammar{})
		if status != c.status || !strings.Contains(out.String(), c.out) || complaints.String() != c.err {
			t.Errorf("%s: %d %q %q", c.args, status, out.String(), complaints.String())
		}
	}
}

func TestHelpOfAVerb(t *testing.T) {
	for in, want := range map[string]string{"": "--help", "help": "--help", "help greet": "greet --help", "greet": "greet"} {
		if got := strings.Join(helped(strings.Fields(in)), " "); got != want {
			t.Errorf("%q is read as %q", in, got)
		}
	}
}
