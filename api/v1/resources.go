package v1

import "net/http"

// resourceHandlers are the handlers of all that is stored beside nodes, ports
// and conductors.
func (s *Service) resourceHandlers() map[string]handler {
	return map[string]handler{
		"listNodePortgroups": s.listNodePortgroups, "listNodePortgroupsDetail": s.listNodePortgroupsDetail,
		"listPortgroups": s.listPortgroups, "listPortgroupsDetail": s.listPortgroupsDetail, "createPortgroup": s.createPortgroup,
		"getPortgroup": s.getPortgroup, "updatePortgroup": s.updatePortgroup, "deletePortgroup": s.deletePortgroup,
		"listPortgroupPorts": s.listPortgroupPorts, "listPortgroupPortsDetail": s.listPortgroupPortsDetail,

		"listChassis": s.listChassis, "listChassisDetail": s.listChassisDetail, "createChassis": s.createChassis,
		"getChassis": s.getChassis, "updateChassis": s.updateChassis, "deleteChassis": s.deleteChassis,
		"listChassisNodes": s.listChassisNodes, "listChassisNodesDetail": s.listChassisNodesDetail,

		"getVolume": s.getVolume, "getNodeVolume": s.getNodeVolume,
		"listNodeConnectors": s.listNodeConnectors, "listNodeTargets": s.listNodeTargets,
		"listConnectors": s.listConnectors, "createConnector": s.createConnector, "getConnector": s.getConnector,
		"updateConnector": s.updateConnector, "deleteConnector": s.deleteConnector,
		"listTargets": s.listTargets, "createTarget": s.createTarget, "getTarget": s.getTarget,
		"updateTarget": s.updateTarget, "deleteTarget": s.deleteTarget,

		"listTraits": s.listTraits, "putTraits": s.putTraits, "putTrait": s.putTrait,
		"deleteTraits": s.deleteTraits, "deleteTrait": s.deleteTrait,
		"listBIOS": s.listBIOS, "getBIOS": s.getBIOS, "listHistory": s.listHistory, "getHistory": s.getHistory,
		"getInventory": s.getInventory, "listFirmware": s.listFirmware, "listChildren": s.listChildren,
		"listAllocations": s.listAllocations, "createAllocation": s.createAllocation, "getAllocation": s.getAllocation,
		"updateAllocation": s.updateAllocation, "deleteAllocation": s.deleteAllocation,
		"getNodeAllocation": s.getNodeAllocation, "deleteNodeAllocation": s.deleteNodeAllocation,

		"listTemplates": s.listTemplates, "createTemplate": s.createTemplate, "getTemplate": s.getTemplate,
		"updateTemplate": s.updateTemplate, "deleteTemplate": s.deleteTemplate,

		"listRunbooks": s.listRunbooks, "createRunbook": s.createRunbook, "getRunbook": s.getRunbook,
		"updateRunbook": s.updateRunbook, "deleteRunbook": s.deleteRunbook,
		"listRunbookTraits": s.listRunbookTraits, "putRunbookTraits": s.putRunbookTraits, "putRunbookTrait": s.putRunbookTrait,
		"deleteRunbookTraits": s.deleteRunbookTraits, "deleteRunbookTrait": s.deleteRunbookTrait,

		"listInspectionRules": s.listInspectionRules, "createInspectionRule": s.createInspectionRule,
		"getInspectionRule": s.getInspectionRule, "updateInspectionRule": s.updateInspectionRule,
		"deleteInspectionRule": s.deleteInspectionRule,

		"listShards": s.listShards, "postEvents": s.postEvents,
	}
}

// unroutedResource is the answer to a method and path below these that no route
// takes; nil where the first word is none of them.
func unroutedResource(method string, segments []string) *fault {
	switch segments[0] {
	case "chassis":
		if len(segments) > 3 && segments[2] == "nodes" && method == http.MethodDelete {
			return notFound("The resource could not be found.")
		}
		return malformed(method)
	case "volume":
		return unroutedVolume(method, segments[1:])
	case "portgroups":
		return malformed(method)
	case "shards":
		if method == http.MethodGet {
			return notFound("The resource could not be found.")
		}
		return notAllowed(http.MethodGet)
	case "events":
		return notAllowed(http.MethodPost)
	case "runbooks":
		if len(segments) > 2 && segments[2] == "traits" {
			return unroutedPart("traits")
		}
		return malformed(method)
	case "allocations", "deploy_templates", "inspection_rules":
		return malformed(method)
	}
	return nil
}

func unroutedVolume(method string, rest []string) *fault {
	switch {
	case len(rest) == 0:
		return notAllowed(http.MethodGet)
	case rest[0] == "connectors", rest[0] == "targets":
		return malformed(method)
	}
	return routeFault(http.StatusNotFound)
}

// unroutedPart is the answer to a method that what is under a node does not
// have; nil where the word is none of these.
func unroutedPart(word string) *fault {
	switch word {
	case "traits":
		return notAllowed("DELETE, GET, PUT")
	case "allocation":
		return notAllowed("DELETE, GET")
	case "bios", "history", "inventory", "firmware", "children":
		return notAllowed(http.MethodGet)
	}
	return nil
}
