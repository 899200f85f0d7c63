package conductor

// OnRulesRan has f called whenever inspection rules have run, before the
// transaction that writes what came of them.
func (c *Conductor) OnRulesRan(f func()) { c.rulesRan = f }
