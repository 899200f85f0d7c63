package v1

import (
	"net/http"
	"testing"
)

func TestNegotiation(t *testing.T) {
	cases := []struct {
		own, generic string
		want         int // 0: refused
	}{
		{"", "", 1},
		{"1.1", "", 1},
		{"1.115", "", 115},
		{"latest", "", 115},
		{"LATEST", "", 115},
		{" 1.5 ", "", 5},
		{"   ", "", 1},
		{"1.5", "baremetal 1.60", 60},
		{"1.5", "compute 2.60", 5},
		{"", "compute 2.60, baremetal latest", 115},
		{"1.0", "", 0},
		{"1.116", "", 0},
		{"2.0", "", 0},
		{"abc", "", 0},
		{"1", "", 0},
		{"1.5.1", "", 0},
		{"1.-5", "", 0},
		{"1.99999999999999999999", "", 0},
	}
	for _, c := range cases {
		h := http.Header{}
		if c.own != "" {
			h.Set(headerVersion, c.own)
		}
		if c.generic != "" {
			h.Set(headerServices, c.generic)
		}
		got, err := negotiate(h)
		switch {
		case c.want == 0 && err == nil:
			t.Errorf("%q %q: accepted as %s", c.own, c.generic, got)
		case c.want == 0 && asFault(err).Status != http.StatusNotAcceptable:
			t.Errorf("%q %q: %v is no 406", c.own, c.generic, err)
		case c.want != 0 && (err != nil || int(got) != c.want):
			t.Errorf("%q %q: got %v, %v, want 1.%d", c.own, c.generic, got, err, c.want)
		}
	}
}

func FuzzNegotiate(f *testing.F) {
	f.Add("1.5", "baremetal 1.60")
	f.Fuzz(func(t *testing.T, own, generic string) {
		h := http.Header{}
		h.Set(headerVersion, own)
		h.Set(headerServices, generic)
		v, err := negotiate(h)
		if err == nil && (v < 1 || v > 115) {
			t.Errorf("version %d out of range", v)
		}
	})
}
