package v1

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"ferrule/metal"
)

// An indicator is named "name@component" in a path (Ironic:
// api/controllers/v1/node.IndicatorAtComponent).

func (s *Service) listIndicators(c *call) error {
	n, err := s.managed(c)
	if err != nil {
		return err
	}
	known, err := s.indicators(c, n)
	if err != nil {
		return err
	}
	list := []any{}
	for _, component := range slices.Sorted(maps.Keys(known)) {
		for _, name := range slices.Sorted(maps.Keys(known[component])) {
			led, path := known[component][name], c.Param("node")+"/management/indicators/"+name+"@"+component
			list = append(list, map[string]any{
				"name": name + "@" + component, "component": component, "readonly": led.ReadOnly, "states": lowered(led.States),
				"links": []map[string]string{
					{"href": c.base + "/v1/nodes/" + path, "rel": "self"},
					{"href": c.base + "/nodes/" + path, "rel": "bookmark"},
				},
			})
		}
	}
	return c.JSON(http.StatusOK, map[string]any{"indicators": list})
}

func (s *Service) getIndicator(c *call) error {
	n, name, component, err := s.indicatorCall(c)
	if err != nil {
		return err
	}
	if err := s.waitUntilFree(c.Request().Context(), n.UUID); err != nil {
		return err
	}
	known, err := s.indicators(c, n)
	if err != nil {
		return err
	}
	led, err := findIndicator(known, name, component)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"state": strings.ToLower(led.State)})
}

func (s *Service) setIndicator(c *call) error {
	kw, err := c.keywords()
	if err != nil {
		return err
	}
	if err := kw.required("state"); err != nil {
		return err
	}
	state, err := kw.text("state")
	if err != nil {
		return err
	}
	n, name, component, err := s.indicatorCall(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.waitUntilFree(ctx, n.UUID); err != nil {
		return err
	}
	if err := s.machine(n).Manages(metal.IndicatorSet); err != nil {
		return err
	}
	args := metal.SetIndicatorArgs{Component: component, Indicator: name}
	if state != nil {
		args.State = strings.ToUpper(*state)
	}
	if err := s.ask(ctx, n, metal.IndicatorSet, args, nil); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

// indicatorCall is the node and the indicator of the path.
func (s *Service) indicatorCall(c *call) (n *metal.Node, name, component string, err error) {
	if n, err = s.managed(c); err != nil {
		return nil, "", "", err
	}
	name, component, ok := strings.Cut(c.Param("indicator"), "@")
	if !ok {
		return nil, "", "", badRequest("Malformed indicator name %q: it is written name@component, as the list of indicators has it.", c.Param("indicator"))
	}
	return n, name, component, nil
}

func (s *Service) indicators(c *call, n *metal.Node) (map[string]map[string]metal.Indicator, error) {
	if err := s.machine(n).Manages(metal.IndicatorsGet); err != nil {
		return nil, err
	}
	var known metal.IndicatorsResult
	err := s.ask(c.Request().Context(), n, metal.IndicatorsGet, nil, &known)
	return known.Indicators, err
}

func findIndicator(known map[string]map[string]metal.Indicator, name, component string) (metal.Indicator, error) {
	leds, ok := known[component]
	if !ok {
		return metal.Indicator{}, badRequest("Invalid component %s specified.", component)
	}
	led, ok := leds[name]
	if !ok {
		return metal.Indicator{}, badRequest("Invalid indicator %s specified.", name)
	}
	return led, nil
}

// lowered writes states as this API has them.
func lowered(states []string) []string {
	list := make([]string, len(states))
	for i, state := range states {
		list[i] = strings.ToLower(state)
	}
	return list
}
