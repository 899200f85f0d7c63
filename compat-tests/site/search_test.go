package site_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// needle is a credential in every form in which it could lie about.
type needle struct {
	name  string
	forms map[string][]byte
}

// newNeedle makes the forms of a secret. Letters and digits alone look the
// same in JSON, in a URL and in a header, so that part of the secret is best
// given.
func newNeedle(name, secret string) needle {
	n := needle{name, map[string][]byte{
		"raw": []byte(secret), "hex": []byte(hex.EncodeToString([]byte(secret))),
		"HEX": []byte(strings.ToUpper(hex.EncodeToString([]byte(secret)))),
	}}
	if escaped := url.QueryEscape(secret); escaped != secret {
		n.forms["query"] = []byte(escaped)
	}
	if quoted, err := json.Marshal(secret); err == nil {
		n.forms["JSON"] = bytes.Trim(quoted, `"`)
	}
	all := ""
	for i := range len(secret) {
		all += fmt.Sprintf("%%%02X", secret[i])
	}
	n.forms["percent"] = []byte(all)
	for before := range 3 {
		name := fmt.Sprintf("base64 after %d", before)
		n.forms[name] = base64Inside(base64.StdEncoding, secret, before)
		n.forms[name+", for URLs"] = base64Inside(base64.URLEncoding, secret, before)
	}
	return n
}

// base64Inside is the part of the encoding of a longer text that the secret
// alone decides, where so many bytes (modulo 3) come before it.
func base64Inside(e *base64.Encoding, secret string, before int) []byte {
	text := e.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
	from := (before*8 + 5) / 6
	to := (before + len(secret)) * 8 / 6
	return []byte(text[from:to])
}

// find gives the first form that is in data.
func (n needle) find(data []byte) (form string, found bool) {
	for form, text := range n.forms {
		if bytes.Contains(data, text) {
			return form, true
		}
	}
	return "", false
}

// Limits of the search in what is packed.
const (
	deepest  = 3
	unpacked = 64 << 20
)

// search looks for the needles in data, and in whatever is gzipped inside it,
// in base64 too. It gives a line for each found.
func search(data []byte, needles []needle) []string {
	return searchIn(data, needles, "", 0)
}

func searchIn(data []byte, needles []needle, inside string, depth int) (found []string) {
	for _, n := range needles {
		if form, there := n.find(data); there {
			found = append(found, fmt.Sprintf("%s (%s%s)", n.name, form, inside))
		}
	}
	if depth == deepest {
		return found
	}
	for _, packed := range gzipped(data) {
		found = append(found, searchIn(packed, needles, inside+" in gzip", depth+1)...)
	}
	return found
}

var gzipMagic = []byte{0x1f, 0x8b, 8}

// packedText is base64 that begins with the magic of gzip.
var packedText = regexp.MustCompile(`H4sI[A-Za-z0-9+/_-]{8,}`)

// gzipped unpacks every stream in data as far as it goes.
func gzipped(data []byte) (streams [][]byte) {
	for at := 0; ; {
		next := bytes.Index(data[at:], gzipMagic)
		if next < 0 {
			break
		}
		at += next
		if content := gunzip(data[at:]); len(content) > 0 {
			streams = append(streams, content)
		}
		at += len(gzipMagic)
	}
	for _, text := range packedText.FindAll(data, -1) {
		plain := strings.NewReplacer("-", "+", "_", "/").Replace(string(text))
		packed, err := base64.RawStdEncoding.DecodeString(plain[:len(plain)/4*4])
		if err != nil {
			continue
		}
		if content := gunzip(packed); len(content) > 0 {
			streams = append(streams, content)
		}
	}
	return streams
}

func gunzip(data []byte) []byte {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	reader.Multistream(false)
	// A stream that breaks off has told something all the same.
	content, _ := io.ReadAll(io.LimitReader(reader, unpacked))
	return content
}

// searchFolder looks into every file below dir that skip does not name.
func searchFolder(t *testing.T, dir string, needles []needle, skip func(path string) bool) (found []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it went while we looked
		case err != nil:
			return err
		}
		if there := search([]byte(path), needles); len(there) > 0 {
			found = append(found, "name of a file: "+strings.Join(there, ", "))
		}
		if !entry.Type().IsRegular() || skip != nil && skip(path) {
			return nil
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		files++
		for _, there := range search(data, needles) {
			found = append(found, path+": "+there)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files in %s were searched: %v", files, dir, err)
	}
	return found
}

func TestTheSearchFindsWhatLiesAbout(t *testing.T) {
	t.Parallel()
	secret := "Tr0ub4dor+and/3=more"
	n := []needle{newNeedle("the secret", secret)}
	pack := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	quoted, err := json.Marshal(map[string]string{"k": secret})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"raw": secret, "JSON": string(quoted), "hex": hex.EncodeToString([]byte(secret)), "HEX": fmt.Sprintf("%X", secret),
		"query": url.Values{"a": {secret}}.Encode(), "base64": base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64, 1 on": base64.StdEncoding.EncodeToString([]byte("x" + secret + "y")), "base64, 2 on": base64.URLEncoding.EncodeToString([]byte("xy" + secret)),
		"gzip": pack(secret), "gzip of gzip": pack(pack("a " + secret)), "gzip in base64": base64.StdEncoding.EncodeToString([]byte(pack(secret))),
		"gzip in base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte(pack(secret))), "basic auth": base64.StdEncoding.EncodeToString([]byte("admin:" + secret)),
	} {
		if len(search([]byte("before "+text+" after"), n)) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	if found := search([]byte("nothing of the sort "+pack("nor here")), n); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}
