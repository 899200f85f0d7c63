package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/noauth"
	"golang.org/x/sync/errgroup"

	"ferrule/lab"
)

type demoCommand struct {
	Servers int    `help:"How many emulated servers." default:"3"`
	Data    string `help:"Folder for everything; a temporary one by default." placeholder:"DIR"`
	Listen  string `help:"Where the API listens." default:"127.0.0.1:6385" placeholder:"HOST:PORT"`
	Image   string `help:"Write this image in place of the lab's own: a URL, or the path of a raw or qcow2 file." placeholder:"URL|PATH"`
	Keep    bool   `help:"Leave everything running at the end, until interrupted."`
}

// demoTimeout is the most that the whole demo may take.
const demoTimeout = 10 * time.Minute

// Run starts a Ferrule and a lab as processes of their own, takes each server
// through its life as any client would, and tells what came of it.
func (d demoCommand) Run(ctx context.Context) (err error) {
	dir, remove, err := d.folder()
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			remove() // after a failure the logs are wanted
		}
	}()
	fmt.Printf("Emulated servers: %d. Each goes from enroll to active and back to available; Ferrule and the lab have their files in %s.\n", d.Servers, dir)
	running, err := d.start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	if err := d.play(ctx, running); err != nil {
		return fmt.Errorf("%w\n(the logs are in %s)", err, dir)
	}
	fmt.Println("\nAll went well: every server went through its whole life.")
	if d.Keep {
		running.explain(os.Stdout, dir)
		<-ctx.Done()
		return nil
	}
	if d.Data == "" {
		fmt.Printf("Removing %s, with database, disks and logs.\n", dir)
	}
	fmt.Println("Next: --keep leaves all of it running, with lines for the openstack client; README.md goes on with real servers.")
	return nil
}

// explain says where what runs can be found, and how to do by hand what was
// done.
func (p *demoProcesses) explain(out io.Writer, dir string) {
	byHand(out, p)
	fmt.Fprintf(out, `
Still running, until interrupted:
  the API          %s
  the lab's own    %s (its page lists what it can do)
  logs             %s and %s
  data and disks   %s
`, p.endpoint, p.ready.Control, filepath.Join(dir, "up.log"), filepath.Join(dir, "lab.log"), dir)
}

func (d demoCommand) folder() (dir string, remove func(), err error) {
	if d.Data != "" {
		dir, err = filepath.Abs(d.Data)
		return dir, func() {}, err
	}
	dir, err = os.MkdirTemp("", "ferrule-demo-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// demoProcesses are the two processes of a demo and what they said at start.
type demoProcesses struct {
	commands []*exec.Cmd
	endpoint string
	ready    lab.Ready
	servers  []lab.Identity
	image    lab.ServedImage
	users    map[string]string // of each server's BMC
	closers  []func() error
}

func (d demoCommand) start(ctx context.Context, dir string) (p *demoProcesses, err error) {
	p = &demoProcesses{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	began := time.Now()
	out, err := p.spawn(ctx, dir, "up", "--listen", d.Listen, "--data", filepath.Join(dir, "ferrule"),
		"--set", "link.port=0", "--set", "siteagent.port=0", // nobody else has to find these
		"--set", "siteagent.open_networks=127.0.0.0/8") // the lab is all on loopback
	if err != nil {
		return p, err
	}
	line, err := out.ReadString('\n')
	if err != nil {
		return p, notStarted(dir, "up")
	}
	_, p.endpoint, _ = strings.Cut(strings.TrimSpace(line), " at ")
	fmt.Printf("%s (after %d ms)\n", strings.TrimSpace(line), time.Since(began).Milliseconds())
	out, err = p.spawn(ctx, dir, "lab", "--servers", fmt.Sprint(d.Servers), "--data", filepath.Join(dir, "lab"),
		"--control", "127.0.0.1:0", "--images", "127.0.0.1:0")
	if err != nil {
		return p, err
	}
	if err := p.readLab(out); err != nil {
		return p, notStarted(dir, "lab")
	}
	p.image = p.ready.Images[0]
	if d.Image != "" {
		p.image, err = p.otherImage(ctx, d.Image)
	}
	return p, err
}

// spawn starts this binary with other arguments; its errors go to a log.
func (p *demoProcesses) spawn(ctx context.Context, dir, verb string, args ...string) (*bufio.Reader, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, verb+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	cmd := exec.CommandContext(ctx, self, append([]string{verb}, args...)...)
	cmd.Stderr = log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 15 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start ferrule %s: %w", verb, err)
	}
	p.commands = append(p.commands, cmd)
	return bufio.NewReader(out), nil
}

// notStarted tells why a process ended before it was ready: what it said last.
func notStarted(dir, verb string) error {
	file := filepath.Join(dir, verb+".log")
	said, err := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	last := strings.TrimPrefix(lines[len(lines)-1], "ferrule: ")
	if err != nil || last == "" {
		return fmt.Errorf("ferrule %s did not start, and said nothing in %s", verb, file)
	}
	return fmt.Errorf("ferrule %s did not start: %s\n(its log is %s)", verb, last, file)
}

// readLab reads a line a server, and the one that ends them.
func (p *demoProcesses) readLab(out *bufio.Reader) error {
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			return err
		}
		if err := json.Unmarshal(line, &p.ready); err != nil {
			return err
		}
		if p.ready.Ready {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return nil
		}
		var s lab.Identity
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		p.servers = append(p.servers, s)
	}
}

func (p *demoProcesses) stop() error {
	var errs []error
	for _, c := range p.commands {
		_ = c.Process.Signal(syscall.SIGTERM)
	}
	for _, c := range p.commands {
		var exit *exec.ExitError
		if err := c.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	for _, c := range p.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// play takes all servers through their life at once.
func (d demoCommand) play(ctx context.Context, p *demoProcesses) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	client, err := noauth.NewBareMetalNoAuth(noauth.EndpointOpts{IronicEndpoint: p.endpoint + "/v1"})
	if err != nil {
		return err
	}
	client.Microversion = "1.115"
	credentials, err := readCredentials(p.ready.CredentialsFile)
	if err != nil {
		return err
	}
	p.users = map[string]string{}
	for name, c := range credentials {
		p.users[name] = c.Username
	}
	view := newView(os.Stdout)
	lives := make([]*life, len(p.servers))
	group, ctx := errgroup.WithContext(ctx)
	for i, s := range p.servers {
		lives[i] = &life{
			client: client, lab: lab.NewClient(p.ready.Control), server: s, credential: credentials[s.Name],
			ready: p.ready, image: p.image, view: view, foreign: d.Image != "",
		}
		view.add(s.Name)
		group.Go(func() error { return lives[i].live(ctx) })
	}
	err = group.Wait()
	view.end()
	if err != nil {
		return err
	}
	summarise(os.Stdout, lives)
	return nil
}

func readCredentials(path string) (map[string]lab.Credential, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the lab's passwords: %w", err)
	}
	all := map[string]lab.Credential{}
	return all, json.Unmarshal(text, &all)
}
