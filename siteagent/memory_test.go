package siteagent

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"ferrule/drivers"
	"ferrule/lab"
	"ferrule/metal"
)

// bmcEnv makes the test binary a BMC, which writes what there is to know of it
// into the folder it names. The password is in that process and in files only.
const bmcEnv = "SITEAGENT_TEST_BMC"

func runBMC(dir string) error {
	servers, err := lab.New(lab.Config{Dir: filepath.Join(dir, "lab"), BMCBase: "127.0.111.1", MachineBase: "127.0.191.1", DiskSize: 64 << 20})
	if err != nil {
		return err
	}
	defer servers.Close()
	server := servers.Servers()[0]
	identity, err := json.Marshal(server.Identity())
	if err != nil {
		return err
	}
	user, password := server.Credentials()
	needles := []string{password}
	for _, head := range []string{user + ":", "x" + user + ":", "xx" + user + ":"} { // its three alignments in base64
		text := base64.RawStdEncoding.EncodeToString([]byte(head + password))
		needles = append(needles, text[len(text)-len(password):len(text)-2])
	}
	for name, text := range map[string]string{
		"identity": string(identity), "account": string(metal.ToJSON(map[string]string{"username": user, "password": password})),
		"needles": strings.Join(needles, "\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if _, err := os.Stdout.WriteString("ready\n"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin) // until the test ends
	return err
}

// elsewhere starts such a BMC, and gives its folder.
func elsewhere(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lab"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), bmcEnv+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the BMC says %q, %v", line, err)
	}
	return dir
}

// inMemory reports whether this process has the password on its heap: another
// process searches a dump of it.
func inMemory(t *testing.T, dir string) bool {
	t.Helper()
	runtime.GC()
	runtime.GC() // what pools held goes with the second one
	dump, err := os.Create(filepath.Join(dir, "heap"))
	if err != nil {
		t.Fatal(err)
	}
	debug.WriteHeapDump(dump.Fd())
	if err := dump.Close(); err != nil {
		t.Fatal(err)
	}
	err = exec.Command("grep", "-aqF", "-f", filepath.Join(dir, "needles"), dump.Name()).Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatal(err)
	}
	return err == nil
}

// A BMC's password leaves the agent's memory when no command and no lease needs
// it any more.
func TestAPasswordLeavesTheMemory(t *testing.T) {
	dir := elsewhere(t)
	text, err := os.ReadFile(filepath.Join(dir, "identity"))
	if err != nil {
		t.Fatal(err)
	}
	var identity lab.Identity
	if err := json.Unmarshal(text, &identity); err != nil {
		t.Fatal(err)
	}
	r := idleRig(t)
	registry := drivers.New(drivers.Config{Idle: 100 * time.Millisecond})
	t.Cleanup(func() { _ = registry.Close(context.Background()) })
	r.real = registry
	r.link.read = func(string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, "account")) }
	r.start(time.Minute)
	node := command().NodeUUID
	order := func(kind metal.Kind, op metal.Operation, args any, options string) metal.CommandResult {
		cmd := ownCommand(kind, op, args)
		cmd.NodeUUID = node
		cmd.Request.Driver, cmd.Request.Address, cmd.Request.TLSSPKISHA256 = "redfish", identity.RedfishAddress, identity.SPKISHA256
		cmd.Request.CredentialsRef, cmd.Request.DriverOptionsJSON = bmcRef(node), json.RawMessage(options)
		return r.do(cmd)
	}
	for _, auth := range []string{"session", "basic"} {
		options := fmt.Sprintf(`{"redfish_auth_type": %q}`, auth)
		if result := order(metal.KindWatch, metal.PowerGet, metal.WatchArgs{IntervalSeconds: 3600, LeaseSeconds: 3600}, options); !result.OK {
			t.Fatalf("%+v", result)
		}
		wait(t, r.link.observed)
		if !inMemory(t, dir) {
			t.Error("a lease is on and the password is not in memory: the search is of the wrong place")
		}
		if result := order(metal.KindPower, metal.PowerSet, metal.SetPowerArgs{Target: metal.PowerOn}, options); !result.OK {
			t.Fatalf("%+v", result)
		}
		if result := order(metal.KindBoot, metal.BootModeSet, metal.BootModeArgs{Mode: "odd"}, options); result.OK {
			t.Fatalf("%+v", result)
		}
		// A lease without a length ends the node's watch.
		if result := order(metal.KindWatch, metal.PowerGet, metal.WatchArgs{IntervalSeconds: 3600}, options); !result.OK {
			t.Fatalf("%+v", result)
		}
		for deadline := time.Now().Add(20 * time.Second); inMemory(t, dir); {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the password is still in memory", auth)
			}
		}
	}
}
