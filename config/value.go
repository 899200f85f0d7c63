package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// valueType is the parsed form of an option's type in the catalogue.
type valueType struct {
	kind    string // bool, int, float, string, list, dict, port, host, ip, uri, octal, cidrs
	multi   bool   // may be given many times
	low     *float64
	high    *float64
	choices []string
}

var typePattern = regexp.MustCompile(`^(multi-)?([a-z]+)(?:\((.*)\))?$`)

func parseType(text string) (valueType, error) {
	m := typePattern.FindStringSubmatch(text)
	if m == nil {
		return valueType{}, fmt.Errorf("unreadable type %q", text)
	}
	t := valueType{kind: m[2], multi: m[1] != ""}
	if m[3] == "" {
		return t, nil
	}
	low, high, isRange := strings.Cut(m[3], "..")
	if !isRange {
		t.choices = strings.Split(m[3], "|")
		return t, nil
	}
	for _, bound := range []struct {
		text string
		to   **float64
	}{{low, &t.low}, {high, &t.high}} {
		if bound.text == "" {
			continue
		}
		n, err := strconv.ParseFloat(bound.text, 64)
		if err != nil {
			return valueType{}, fmt.Errorf("unreadable bound in type %q", text)
		}
		*bound.to = &n
	}
	return t, nil
}

// parse turns the text of one value into bool, int, float64, string, []string,
// map[string]string or []netip.Prefix; nil is a number left empty.
func (t valueType) parse(text string) (any, error) {
	switch t.kind {
	case "bool":
		return parseBool(text)
	case "int", "port", "float", "octal":
		return t.parseNumber(strings.TrimFunc(text, isBlank))
	case "list":
		return t.parseList(text)
	case "dict":
		return parseDict(text)
	case "cidrs":
		return parseCIDRs(text)
	case "host", "ip":
		return text, checkHost(text, t.kind == "ip")
	case "uri":
		if _, err := url.Parse(text); err != nil {
			return nil, errors.New("not a URI")
		}
		return text, nil
	}
	return text, t.checkChoice(text)
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "on", "yes":
		return true, nil
	case "false", "0", "off", "no":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

func (t valueType) parseNumber(text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	var number any
	var size float64
	switch t.kind {
	case "float":
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, errors.New("must be a number")
		}
		number, size = f, f
	default:
		base := 10
		if t.kind == "octal" {
			base, text = 8, strings.TrimPrefix(text, "0o")
		}
		n, err := strconv.ParseInt(text, base, 64)
		if err != nil {
			return nil, errors.New("must be a whole number")
		}
		number, size = int(n), float64(n)
	}
	if t.low != nil && size < *t.low {
		return nil, fmt.Errorf("must be at least %v", *t.low)
	}
	if t.high != nil && size > *t.high {
		return nil, fmt.Errorf("must be at most %v", *t.high)
	}
	if t.kind == "port" && (size < 0 || size > 65535) {
		return nil, errors.New("must be a port, 0 to 65535")
	}
	return number, nil
}

func (t valueType) checkChoice(text string) error {
	if t.choices != nil && !slices.Contains(t.choices, text) {
		return fmt.Errorf("must be one of: %s", strings.Join(t.choices, ", "))
	}
	return nil
}

func (t valueType) parseList(text string) ([]string, error) {
	text = strings.TrimRight(strings.TrimFunc(text, isBlank), ",")
	items := []string{}
	if text == "" {
		return items, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimFunc(item, isBlank)
		if err := t.checkChoice(item); err != nil {
			return nil, fmt.Errorf("each item %w", err)
		}
		items = append(items, item)
	}
	return items, nil
}

func parseDict(text string) (map[string]string, error) {
	pairs := map[string]string{}
	text = strings.TrimFunc(text, isBlank)
	if text == "" {
		return pairs, nil
	}
	parts := strings.Split(text, ",")
	for at := 0; at < len(parts); at++ {
		pair := parts[at]
		for !strings.Contains(pair, ":") && at+1 < len(parts) {
			at++ // a comma inside a name, as oslo.config reads it
			pair += "," + parts[at]
		}
		name, value, ok := strings.Cut(pair, ":")
		name = strings.TrimFunc(name, isBlank)
		switch _, twice := pairs[name]; {
		case !ok:
			return nil, errors.New(`must be NAME:VALUE pairs separated by ","`)
		case name == "":
			return nil, errors.New("a NAME:VALUE pair lacks its name")
		case twice:
			return nil, fmt.Errorf("names %q twice", name)
		}
		pairs[name] = strings.TrimFunc(value, isBlank)
	}
	return pairs, nil
}

// parseCIDRs reads networks; an address alone is a network of one.
func parseCIDRs(text string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimFunc(item, isBlank)
		if item == "" {
			continue
		}
		network, err := netip.ParsePrefix(item)
		if err != nil {
			address, notAddress := netip.ParseAddr(item)
			if notAddress != nil {
				return nil, fmt.Errorf("%q is not a network such as 192.0.2.0/24", item)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}[A-Za-z0-9_])?)*\.?$`)

func checkHost(text string, addressOnly bool) error {
	if _, err := netip.ParseAddr(text); err == nil {
		return nil
	}
	if addressOnly {
		return errors.New("must be an IP address")
	}
	if len(text) > 255 || !hostName.MatchString(text) {
		return errors.New("must be an IP address or a host name")
	}
	return nil
}
