package schemathesis

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
	"ferrule/openapi"
	"ferrule/openapi/conform"
)

var (
	seed     = flag.Uint64("seed", 20260101, "of the requests that are made")
	examples = flag.Int("examples", 10, "how many random requests an operation gets, at most")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// versions are an old client's, that of the time between, and today's.
var versions = []openapi.Version{openapi.MinVersion, 61, openapi.MaxVersion}

// runLimit bounds the requests at one microversion.
const runLimit = 4 * time.Minute

const checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance"

func TestAnswersAreAsDescribed(t *testing.T) {
	if testing.Short() {
		t.Skip("makes requests for minutes")
	}
	tool := env.Tool(t, env.Schemathesis, "schemathesis")
	hooks, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	p := plane.Start(t, plane.Options{})
	for _, v := range versions {
		t.Run(v.String(), func(t *testing.T) {
			objects, err := json.Marshal(furnish(p, v))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), runLimit)
			defer cancel()
			run := exec.CommandContext(ctx, tool, "run", description(t, p, v), "--url", p.URL, "--checks", checks,
				"--phases", "coverage,fuzzing", "--max-examples", fmt.Sprint(*examples), "--seed", fmt.Sprint(*seed),
				"--continue-on-failure", "--no-shrink", "--generation-database", "none", "--suppress-health-check", "all",
				"--no-color", "--warnings", "off", "--header", "X-OpenStack-Ironic-API-Version:"+v.String())
			run.Dir = t.TempDir()
			run.Env = append(os.Environ(), "PYTHONPATH="+hooks, "SCHEMATHESIS_HOOKS=hooks", "FERRULE_OBJECTS="+string(objects))
			out, err := run.CombinedOutput()
			if err != nil {
				t.Errorf("with -seed %d: %v\n%s", *seed, err, out)
			}
			t.Logf("with -seed %d: %s", *seed, summary(string(out)))
		})
	}
}

// description is where Schemathesis reads what there is: today from Ferrule
// itself, for another microversion from a file that says what holds there.
func description(t *testing.T, p *plane.Plane, v openapi.Version) string {
	t.Helper()
	if v == openapi.MaxVersion {
		return p.URL + "/openapi.yaml"
	}
	all, err := conform.New(openapi.YAML)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := all.At(v)
	if err != nil {
		t.Fatal(err)
	}
	text, err := doc.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// summary is the line that says how many requests there were.
func summary(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "generated, ") {
			return strings.TrimSpace(line)
		}
	}
	return "nothing is said of requests"
}
