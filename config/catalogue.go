package config

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Status says what Ferrule makes of an option.
type Status string

const (
	// Honoured options change what Ferrule does.
	Honoured Status = "honoured"
	// Lost options are Ironic's and stand for something that is not built in.
	Lost Status = "lost"
	// NoMeaning options are Ironic's, do nothing here, and are not missed.
	NoMeaning Status = "no meaning here"
)

// Option is one row of the catalogue.
type Option struct {
	Section string
	Name    string
	Type    string // as in options.tsv: bool, int(1..), string(a|b), list, ...
	Default string // as it would stand in the file; <…> for none, or where the machine decides
	Status  Status
	Note    string // what it does, what is lost, or why it does nothing
	// Own marks an option that Ironic does not have.
	Own bool
	// aliases are other spellings, section.name each.
	aliases []string
}

// Key is the option's name in --set and in messages.
func (o Option) Key() string { return o.Section + "." + o.Name }

// later begins the note of an option that has its field and that nothing reads.
const later = "not built yet: "

//go:embed options.tsv
var optionsTSV string

// catalogue is every option, with an index over keys and aliases.
type catalogue struct {
	options  []Option
	index    map[string]int
	sections map[string]bool
	// retired sections are those of older Ironics, taken whole.
	retired map[string]int
}

// Options lists the catalogue in the order of its file.
func Options() []Option { return slices.Clone(theCatalogue().options) }

// theCatalogue is read once; the embedded file never changes.
var theCatalogue = sync.OnceValue(func() *catalogue {
	c, err := readCatalogue(optionsTSV)
	if err != nil {
		panic("config: options.tsv: " + err.Error()) // a broken build, caught by every test
	}
	return c
})

func readCatalogue(text string) (*catalogue, error) {
	c := &catalogue{index: map[string]int{}, sections: map[string]bool{}, retired: map[string]int{}}
	for number, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		option, err := readOption(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		if err := c.add(option); err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	for at, option := range c.options {
		for _, alias := range option.aliases {
			if _, taken := c.index[alias]; !taken {
				c.index[alias] = at
				section, _, _ := strings.Cut(alias, ".")
				c.sections[section] = true
			}
		}
	}
	return c, nil
}

// readOption reads one row: section, option, type, default, status, note and,
// where there are any, other names.
func readOption(line string) (Option, error) {
	cells := strings.Split(line, "\t")
	if len(cells) < 6 {
		return Option{}, fmt.Errorf("%d cells, not at least 6", len(cells))
	}
	option := Option{
		Section: cells[0], Name: cells[1], Type: cells[2],
		Default: strings.ReplaceAll(cells[3], `\n`, "\n"), Note: cells[5],
	}
	switch cells[4] {
	case "honoured":
		option.Status = Honoured
	case "later":
		option.Status, option.Note = Lost, later+option.Note
	case "lost":
		option.Status = Lost
	case "own":
		option.Status, option.Own = Honoured, true
	case "own-later":
		option.Status, option.Own, option.Note = Lost, true, later+option.Note
	case "-":
		option.Status = NoMeaning
	default:
		return Option{}, fmt.Errorf("unknown status %q", cells[4])
	}
	if len(cells) > 6 && cells[6] != "" {
		option.aliases = strings.Split(cells[6], ",")
	}
	return option, nil
}

func (c *catalogue) add(option Option) error {
	if _, twice := c.index[option.Key()]; twice {
		return fmt.Errorf("%s stands twice", option.Key())
	}
	at := len(c.options)
	c.options = append(c.options, option)
	c.sections[option.Section] = true
	if option.Name == "*" {
		c.retired[option.Section] = at
		return nil
	}
	c.index[option.Key()] = at
	return nil
}

// find resolves a name as it stands in a file. Names may be written with
// hyphens, as oslo.config's command line has them.
func (c *catalogue) find(section, name string) (Option, bool) {
	if at, ok := c.index[section+"."+name]; ok {
		return c.options[at], true
	}
	if at, ok := c.index[section+"."+strings.ReplaceAll(name, "-", "_")]; ok {
		return c.options[at], true
	}
	if at, ok := c.retired[section]; ok {
		option := c.options[at]
		option.Name = name
		return option, true
	}
	return Option{}, false
}

// nearest gives the known name that looks most like an unknown one, or "".
// The same name in another section is the likeliest slip, if it does something.
func (c *catalogue) nearest(section, name string) string {
	best, bestDistance := "", len(name)/2+2
	for _, option := range c.options {
		distance := editDistance(option.Name, name)
		if option.Section != section {
			distance += 1 + editDistance(option.Section, section)/2
			if option.Name == name && option.Status == Honoured {
				distance = 1
			}
		}
		if distance < bestDistance {
			best, bestDistance = "["+option.Section+"] "+option.Name, distance
		}
	}
	return best
}

// editDistance is Levenshtein's, over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
