package main

import (
	"os"

	"ferrule/api/policy"
)

type policyCommand struct {
	List  policyList  `cmd:"" help:"Every built-in policy, in the form of a policy file."`
	Check policyCheck `cmd:"" help:"Say what is wrong with a policy file, or not as it may have been meant."`
}

type policyList struct{}

// Run prints the policies.
func (policyList) Run() error { return policy.List(os.Stdout) }

type policyCheck struct {
	File string `arg:"" help:"A policy file, YAML or JSON, in the language of oslo.policy."`
}

// Run prints the remarks; what keeps the file from being used is an error.
func (c policyCheck) Run() error { return policy.CheckFile(os.Stdout, c.File) }
