package v1

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"ferrule/metal"
	"ferrule/store"
)

// listTraits lists a node's traits (Ironic: NodeTraitsController).
func (s *Service) listTraits(c *call) error {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	if err := c.checkVersion(); err != nil {
		return err
	}
	return c.answerTraits(n.Traits)
}

func (c *call) answerTraits(traits []string) error {
	b := appendStrings(append(make([]byte, 0, 256), `{"traits":`...), traits)
	return c.json(http.StatusOK, append(b, '}'))
}

// putTraits replaces all of a node's traits.
func (s *Service) putTraits(c *call) error {
	traits, err := readTraits(c.raw, "node")
	if err != nil {
		return err
	}
	if err := s.changeTraits(c, func([]string) ([]string, error) { return traits, nil }); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

// putTrait adds one trait to a node.
func (s *Service) putTrait(c *call) error {
	trait, err := c.trait()
	if err != nil {
		return err
	}
	if err := s.changeTraits(c, func(have []string) ([]string, error) { return append(have, trait), nil }); err != nil {
		return err
	}
	c.location("nodes/" + c.Param("node") + "/traits/" + trait)
	return c.empty(http.StatusNoContent)
}

func (s *Service) deleteTraits(c *call) error {
	if err := s.changeTraits(c, func([]string) ([]string, error) { return nil, nil }); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

func (s *Service) deleteTrait(c *call) error {
	trait := c.Param("trait")
	err := s.changeTraits(c, func(have []string) ([]string, error) {
		if !slices.Contains(have, trait) {
			return nil, notFound("Node %s doesn't have a trait '%s'", c.Param("node"), trait)
		}
		return slices.DeleteFunc(have, func(t string) bool { return t == trait }), nil
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

// changeTraits stores what change makes of a node's traits.
func (s *Service) changeTraits(c *call, change func(have []string) ([]string, error)) error {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	return s.changeNode(c.Request().Context(), n.UUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		traits, err := change(slices.Clone(n.Traits))
		if err != nil {
			return err
		}
		traits = set(traits)
		if len(traits) > metal.MostTraits {
			return badRequest("A node can have %d traits, not %d.", metal.MostTraits, len(traits))
		}
		if slices.Equal(traits, n.Traits) {
			return nil
		}
		n.Traits = traits
		return tx.UpdateNode(ctx, n, "traits")
	})
}

// set is the list in order, each item once.
func set(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// readTraits reads the list of traits in a body, of a node or a runbook.
func readTraits(raw []byte, of string) ([]string, error) {
	body, err := decodeObject(raw)
	if err != nil {
		return nil, err
	}
	if err := onlyKnown(body, among("traits")); err != nil {
		return nil, schemaOf("body", err)
	}
	if !has(body, "traits") {
		return nil, badRequest("A single %[1]s trait may be added via PUT %[2]s/<trait> with no body, or all %[1]s traits may be replaced "+
			"via PUT %[2]s with the list of traits specified in the request body.", of, fmt.Sprintf("/v1/%[1]ss/<%[1]s identifier>/traits", of))
	}
	traits, err := traitList(body["traits"], "array")
	return traits, schemaOf("body", err)
}

// traitList reads a list of traits, where the types say what there may be.
func traitList(value any, types ...string) ([]string, error) {
	items, ok := value.([]any)
	if !ok {
		return nil, wrongType(value, types...)
	}
	traits := make([]string, len(items))
	for i, item := range items {
		if err := checkTrait(item); err != nil {
			return nil, err
		}
		traits[i] = item.(string)
	}
	return traits, nil
}

// trait is the trait of the path, which comes without a body.
func (c *call) trait() (string, error) {
	trait := c.Param("trait")
	if err := checkTrait(trait); err != nil {
		return "", schemaOf("trait", err)
	}
	if len(c.raw) == 0 {
		return trait, nil
	}
	body, err := decode(c.raw)
	if err != nil {
		return "", err
	}
	if _, ok := body.(map[string]any); !ok {
		return "", schemaOf("body", wrongType(body, "object"))
	}
	if truthy(body) {
		return "", badRequest("No body should be provided when adding a trait")
	}
	return trait, nil
}
