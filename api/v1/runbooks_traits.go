package v1

import (
	"context"
	"net/http"
	"slices"

	"ferrule/store"
)

// listRunbookTraits lists the traits that tie a runbook to nodes.
func (s *Service) listRunbookTraits(c *call) error {
	r, err := s.runbook(c)
	if err != nil {
		return err
	}
	return c.answerTraits(r.Traits)
}

func (s *Service) putRunbookTraits(c *call) error {
	traits, err := readTraits(c.raw, "runbook")
	if err != nil {
		return err
	}
	if err := s.changeRunbookTraits(c, func([]string) []string { return traits }); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

func (s *Service) putRunbookTrait(c *call) error {
	trait, err := c.trait()
	if err != nil {
		return err
	}
	if err := s.changeRunbookTraits(c, func(have []string) []string { return append(have, trait) }); err != nil {
		return err
	}
	c.location("runbooks/" + c.Param("runbook") + "/traits/" + trait)
	return c.empty(http.StatusNoContent)
}

func (s *Service) deleteRunbookTraits(c *call) error {
	if err := s.changeRunbookTraits(c, func([]string) []string { return nil }); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

// deleteRunbookTrait takes a trait away; one that is not there is no error.
func (s *Service) deleteRunbookTrait(c *call) error {
	without := func(have []string) []string {
		return slices.DeleteFunc(have, func(t string) bool { return t == c.Param("trait") })
	}
	if err := s.changeRunbookTraits(c, without); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

func (s *Service) changeRunbookTraits(c *call, change func(have []string) []string) error {
	r, err := s.runbook(c)
	if err != nil {
		return err
	}
	return s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		fresh, err := tx.Runbook(ctx, r.UUID)
		if err != nil {
			return err
		}
		traits := set(change(slices.Clone(fresh.Traits)))
		if slices.Equal(traits, fresh.Traits) {
			return nil
		}
		fresh.Traits = traits
		return tx.UpdateRunbook(ctx, &fresh)
	})
}
