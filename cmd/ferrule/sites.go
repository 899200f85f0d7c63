package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"ferrule/api/ferrule"
)

type joinCodeCommand struct {
	operator
	Site     string        `help:"The site to join, a conductor group; without it the default site." placeholder:"NAME"`
	Lifetime time.Duration `help:"How long the code works; without it, as [trust]join_code_lifetime says." placeholder:"TIME"`
}

// Run prints the code, alone on its line.
func (j joinCodeCommand) Run(ctx context.Context) error {
	ask := ferrule.JoinCodeRequest{Site: j.Site, LifetimeSeconds: int64(j.Lifetime / time.Second)}
	if j.Lifetime != 0 && ask.LifetimeSeconds <= 0 {
		return fmt.Errorf("--lifetime %s: give a second or more", j.Lifetime)
	}
	var code ferrule.JoinCode
	if err := j.call(ctx, http.MethodPost, "/ferrule/v1/join-codes", ask, &code); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "for one agent of %s, until %s:\n", siteTitle(code.Site), code.ExpiresAt.Local().Format(time.RFC3339))
	fmt.Println(code.Code)
	return nil
}

func siteTitle(name string) string {
	if name == "" {
		return "the default site"
	}
	return "site " + name
}

type agentsCommand struct {
	List   agentsList   `cmd:"" help:"List the agents of all sites."`
	Remove agentsRemove `cmd:"" help:"Remove an agent for good."`
}

type agentsList struct {
	operator
	All bool `help:"Those that were removed, too."`
}

// Run prints a line an agent.
func (a agentsList) Run(ctx context.Context) error {
	var list ferrule.AgentList
	if err := a.call(ctx, http.MethodGet, "/ferrule/v1/agents", nil, &list); err != nil {
		return err
	}
	return table(os.Stdout, "ID\tSITE\tHOST\tVERSION\tSTATE\tLAST SEEN\tHARDWARE TYPES", func(row func(...string)) {
		for _, agent := range list.Agents {
			if agent.RemovedAt == nil || a.All {
				row(agent.ID, agent.Site, agent.Hostname, agent.Version, agentState(agent), seen(agent.LastSeenAt),
					strings.Join(agent.HardwareTypes, ","))
			}
		}
	})
}

func agentState(a ferrule.Agent) string {
	switch {
	case a.RemovedAt != nil:
		return "removed"
	case a.Online:
		return "on line"
	}
	return "off line"
}

func seen(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.Local().Format(time.RFC3339)
}

type agentsRemove struct {
	operator
	ID string `arg:"" help:"The agent's id."`
}

// Run removes the agent.
func (a agentsRemove) Run(ctx context.Context) error {
	if err := a.call(ctx, http.MethodDelete, "/ferrule/v1/agents/"+url.PathEscape(a.ID), nil, nil); err != nil {
		return err
	}
	fmt.Printf("agent %s is removed\n", a.ID)
	return nil
}

type siteCommand struct {
	List siteList `cmd:"" help:"List the sites."`
}

type siteList struct{ operator }

// Run prints a line a site.
func (s siteList) Run(ctx context.Context) error {
	var list ferrule.SiteList
	if err := s.call(ctx, http.MethodGet, "/ferrule/v1/sites", nil, &list); err != nil {
		return err
	}
	return table(os.Stdout, "SITE\tAGENTS\tON LINE", func(row func(...string)) {
		for _, site := range list.Sites {
			row(site.Name, fmt.Sprint(site.Agents), fmt.Sprint(site.AgentsOnline))
		}
	})
}

// table writes rows in columns; an empty cell is a hyphen.
func table(out io.Writer, head string, rows func(row func(cells ...string))) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	rows(func(cells ...string) {
		for i := range cells {
			if cells[i] == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	})
	return w.Flush()
}
