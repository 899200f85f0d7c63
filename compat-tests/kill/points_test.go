package kill

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var hit = regexp.MustCompile(`failpoint\.Hit\("([a-z-]+)"\)`)

// points are the failpoints in the code below the folders, as it is now: who
// adds one need not name it here for it to be tried.
func points(t *testing.T, folders ...string) []string {
	t.Helper()
	var found []string
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range hit.FindAllStringSubmatch(string(text), -1) {
				found = append(found, match[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(found)
	if twice := len(found) - len(slices.Compact(slices.Clone(found))); twice != 0 {
		t.Errorf("%d failpoints share a name with another: %v", twice, found)
	}
	return found
}
