package config

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
)

// maxDepth bounds how far one value may refer to others.
const maxDepth = 16

// maxExpanded bounds a value after its references are put in.
const maxExpanded = 1 << 16

var reference = regexp.MustCompile(`(?i)\\?\$(?:\$|([_a-z][._a-z0-9]*)|\{([_a-z][._a-z0-9]*)\})`)

// expand puts the values of other options in the place of $name, ${name} and
// $section.name; a name alone is sought in the option's own section, then in
// [DEFAULT]. "$$" and "\$" stand for "$".
func (f *filler) expand(in Option, text string, depth int) (string, error) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	if depth > maxDepth {
		return "", errors.New("refers to itself")
	}
	var problem error
	expanded := reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if strings.HasPrefix(found, `\`) {
			if found == `\$$` {
				return "$$"
			}
			return found[1:]
		}
		value, err := f.referred(in, strings.Trim(found, "${}"), depth)
		if err != nil && problem == nil {
			problem = err
		}
		return value
	})
	if problem == nil && len(expanded) > maxExpanded {
		problem = errors.New("grows too long when what it refers to is put in")
	}
	return expanded, problem
}

// referred is the value of the option that a reference names.
func (f *filler) referred(in Option, name string, depth int) (string, error) {
	c := theCatalogue()
	option, ok := c.find(in.Section, name)
	if section, inner, dotted := strings.Cut(name, "."); !ok && dotted {
		option, ok = c.find(sectionName(section), inner)
	}
	if !ok {
		option, ok = c.find("DEFAULT", name)
	}
	if !ok {
		return "", fmt.Errorf("refers to $%s, which is no option (write $$ for a dollar sign)", name)
	}
	texts, _ := f.texts(option, false)
	if len(texts) == 0 {
		return "", nil
	}
	return f.expand(option, texts[0], depth+1)
}

// machineDefault gives a default that depends on the machine; ok is false where
// there is none.
func machineDefault(marker string) (value string, ok bool) {
	switch marker {
	case "<host name>":
		name, err := os.Hostname()
		return name, err == nil
	case "<address of the default route>":
		return routeAddress(), true
	case "<temporary folder>":
		return os.TempDir(), true
	}
	return "", false
}

// routeAddress is the address that this machine would send from. A UDP socket
// that is only connected sends nothing.
func routeAddress() string {
	probe, err := net.Dial("udp4", "192.0.2.1:9")
	if err != nil {
		return "127.0.0.1"
	}
	defer probe.Close()
	return probe.LocalAddr().(*net.UDPAddr).IP.String()
}
