package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// uuid is what Ironic takes for one: hyphens may be left out.
const uuid = `^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$`

// formats are the formats of texts that the description names. A text of format
// json-fault holds an error once more, as JSON.
func formats(doc *openapi3.T) openapi3.SchemaValidationOption {
	return openapi3.WithStringFormatValidators(map[string]openapi3.StringFormatValidator{
		"uuid":      openapi3.NewRegexpFormatValidator(uuid),
		"date-time": openapi3.NewCallbackValidator(checkTime),
		"uri":       openapi3.NewCallbackValidator(checkURI),
		"json-fault": openapi3.NewCallbackValidator(func(text string) error {
			var inner any
			if err := json.Unmarshal([]byte(text), &inner); err != nil {
				return fmt.Errorf("the error's text is no JSON: %w", err)
			}
			return doc.Components.Schemas["Fault"].Value.VisitJSON(inner)
		}),
	})
}

func checkTime(text string) error {
	_, err := time.Parse(time.RFC3339Nano, text)
	return err
}

func checkURI(text string) error {
	u, err := url.Parse(text)
	if err == nil && !u.IsAbs() {
		err = errors.New("no absolute address")
	}
	return err
}
