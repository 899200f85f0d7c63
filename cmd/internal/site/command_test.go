package site

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"ferrule/config"
)

func TestTheAgentsFlagsAreStrongerThanItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.conf")
	text := "[siteagent]\ndata_dir = /srv/agent\nhost_ip = 192.0.2.1\nport = 7000\npublic_url = http://site:7000\n[conductor]\nfile_url_allowed_paths = /images\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Sources{Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		flags RunCommand
		cfg   *config.Config
		want  Config
	}{
		{"nothing said", RunCommand{}, config.Defaults(), Config{DataDir: "ferrule-agent", Listen: ":6387"}},
		{"a file", RunCommand{}, cfg, Config{
			DataDir: "/srv/agent", Listen: "192.0.2.1:7000", AdvertiseURL: "http://site:7000", ImageDirs: []string{"/images"},
		}},
		{"flags too", RunCommand{Data: "d", Listen: ":1", AdvertiseURL: "http://me", ImageDirs: []string{"/more"}}, cfg, Config{
			DataDir: "d", Listen: ":1", AdvertiseURL: "http://me", ImageDirs: []string{"/images", "/more"},
		}},
	} {
		if got := c.flags.options(c.cfg); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
}
