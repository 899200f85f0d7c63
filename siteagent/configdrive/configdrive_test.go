package configdrive

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
	"ferrule/siteagent/iso/isotest"
	"ferrule/siteagent/refusal"
)

// unpack reads a config drive back: path in the image → content.
func unpack(t *testing.T, packed string) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		t.Fatal(err)
	}
	image, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	got := isotest.Read(t, image)
	if got.Label != "config-2" {
		t.Errorf("the label is %q", got.Label)
	}
	return got.Files
}

func TestDriveHoldsWhatTheDescriptionAsks(t *testing.T) {
	given := `{"meta_data": {"hostname": "web-1", "name": "own"}, "user_data": "#cloud-config\nü: 1\n",
		"network_data": {"links": []}, "vendor_data": {"a": 1}}`
	packed, err := Build(context.Background(), []byte(given), Node{UUID: "u-1", Name: "node-1"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, packed)
	for _, version := range versions {
		base := "openstack/" + version + "/"
		var metaData map[string]string
		if err := json.Unmarshal([]byte(files[base+"meta_data.json"]), &metaData); err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"hostname": "web-1", "name": "own", "uuid": "u-1"}; !cmp.Equal(metaData, want) {
			t.Error(cmp.Diff(want, metaData))
		}
		for name, want := range map[string]string{
			"user_data": "#cloud-config\nü: 1\n", "network_data.json": `{"links": []}`, "vendor_data2.json": `{"a": 1}`,
		} {
			if got := files[base+name]; got != want {
				t.Errorf("%s is %q, want %q", base+name, got, want)
			}
		}
	}
}

func TestDriveOfAnEmptyDescriptionNamesTheNode(t *testing.T) {
	packed, err := Build(context.Background(), []byte(`{}`), Node{UUID: "u-1"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"openstack/latest/meta_data.json":     `{"uuid":"u-1"}`,
		"openstack/2012-08-10/meta_data.json": `{"uuid":"u-1"}`,
	}
	if got := unpack(t, packed); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestUserDataThatIsAnObjectIsWrittenAsJSON(t *testing.T) {
	packed, err := Build(context.Background(), []byte(`{"user_data": {"ignition": {"version": "3.4.0"}}}`), Node{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := unpack(t, packed)["openstack/latest/user_data"]; got != `{"ignition": {"version": "3.4.0"}}` {
		t.Errorf("user_data is %q", got)
	}
}

func TestBadDescriptionIsRefusedWithoutQuotingIt(t *testing.T) {
	for _, given := range []string{`{"meta_data": "canary-value"}`, `{"meta_data": [1]}`, `{"canary-value`, `{}x`} {
		_, err := Build(context.Background(), []byte(given), Node{}, t.TempDir())
		var refused *refusal.Error
		if !errors.As(err, &refused) || refused.Code != metal.CodeInvalidArgs {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if strings.Contains(err.Error(), "canary-value") {
			t.Errorf("the error quotes the config drive: %v", err)
		}
	}
}

func TestIsDescription(t *testing.T) {
	for given, want := range map[string]bool{
		`{"meta_data":{}}`: true, " \n{}": true, "H4sIAAAA": false, "http://images/cd": false, "": false, "[]": false,
	} {
		if got := IsDescription([]byte(given)); got != want {
			t.Errorf("%q: %v", given, got)
		}
	}
}

func FuzzContents(f *testing.F) {
	f.Add([]byte(`{"meta_data": {"a": 1}, "user_data": "x"}`))
	f.Add([]byte(`{"user_data": null}`))
	f.Fuzz(func(t *testing.T, given []byte) {
		files, err := contents(given, Node{UUID: "u"})
		if err == nil && len(files) < len(versions) {
			t.Errorf("%q gives %d files", given, len(files))
		}
	})
}
