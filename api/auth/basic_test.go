package auth

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func TestAFileThatLetsNobodyInIsRefused(t *testing.T) {
	password := "obviously-fake"
	made, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	hash := string(made)
	for _, c := range []struct{ text, want string }{
		{"una:" + hash + "\n", ""},
		{"una:$2y$" + hash[4:], ""},
		{"una:$2b$" + hash[4:] + "\r\n", ""},
		{"# who may come in: all of us\n\njunk\nuna:" + hash + "\n", ""},
		{"", "lets nobody in"},
		{"junk\n", "lets nobody in"},
		{"# una:" + hash + "\n", "lets nobody in"},
		{"\x00\xff\x7fELF\x02", "lets nobody in"},
		{"una:" + hash + "\nduo:secret\n", "line 2"},
		{"una:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n", "line 1"},
		{"una:$apr1$salt$hash\n", "line 1"},
		{"una:" + hash[:20] + "\n", "line 1"},
		{"una:$2y$99$" + hash[7:] + "\n", "line 1"},
	} {
		file := filepath.Join(t.TempDir(), "htpasswd")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := newBasic(file)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "htpasswd -nB")):
			t.Errorf("%q: %v lacks %q", c.text, err, c.want)
		case c.want != "" && strings.Contains(err.Error(), "secret"):
			t.Errorf("the error shows what may be a password: %v", err)
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.want == "":
			r := &http.Request{Header: http.Header{}}
			r.SetBasicAuth("una", password)
			if who, err := b.Authenticate(r); err != nil || who.User != "una" {
				t.Errorf("%q lets nobody in: %v", c.text, err)
			}
		}
	}
	if _, err := newBasic(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there")
	}
}
