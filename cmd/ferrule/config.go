package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ferrule/config"
)

type configCommand struct {
	List  configList  `cmd:"" help:"Every option with its default and meaning."`
	Check configCheck `cmd:"" help:"Say what a configuration would lose here, what is honoured, and what has no meaning and why."`
}

type configList struct{}

// Run prints the options.
func (configList) Run() error { return config.List(os.Stdout) }

type configCheck struct {
	Paths  []string `arg:"" name:"path" help:"Configuration files in Ironic's format, or folders of *.conf files; later ones win."`
	Format string   `help:"text or json." enum:"text,json" default:"text"`
}

// Run prints the findings; what would stop a start is an error.
func (c configCheck) Run() error {
	report, wrong := config.Check(config.Sources{Files: c.Paths, Judge: judge})
	if c.Format == "json" {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		return errors.Join(out.Encode(report), wrong)
	}
	return errors.Join(report.WriteText(os.Stdout), wrong)
}

type migrateCommand struct{ sources }

// Run migrates the database.
func (m migrateCommand) Run(ctx context.Context) error {
	cfg, err := m.load()
	if err != nil {
		return err
	}
	s, err := openStore(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Migrate(ctx); err != nil {
		return err
	}
	fmt.Println("the database has this version's schema")
	return nil
}

// dsn is the store's form of the configured connection.
func dsn(cfg *config.Config) (string, error) {
	c, err := cfg.StoreConnection()
	if err != nil || c.Engine != config.SQLite {
		return c.URL, err
	}
	path, err := sqlitePath(c)
	return "sqlite://" + path, err
}

// sqlitePath is where the database file is; nothing here lives in memory.
func sqlitePath(c config.Connection) (string, error) {
	if c.Path == ":memory:" {
		return "", errors.New("the database would be in memory and gone at the next start: name a file, as in sqlite:///ferrule.sqlite")
	}
	return filepath.Abs(c.Path)
}
