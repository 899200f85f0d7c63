package conductor

import (
	"context"

	"ferrule/metal"
	"ferrule/store"
)

// endAllocation removes the allocation of an instance that was torn down.
func endAllocation(ctx context.Context, tx *store.Tx, before, after *metal.Node) error {
	if before.AllocationUUID == nil || after.AllocationUUID != nil {
		return nil
	}
	err := tx.DeleteAllocation(ctx, *before.AllocationUUID)
	if metal.ReasonOf(err) == metal.NotFound {
		return nil
	}
	return err
}
