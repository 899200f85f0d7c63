package metal

// The keys of driver_internal_info that both the API and the conductor use or
// that clients of Ironic know. Those of the ramdisk come and go with it (Ironic:
// conductor/utils.wipe_internal_info_on_power_off and friends).
const (
	InfoAgentURL       = "agent_url"       // where the ramdisk's own API is
	InfoAgentCA        = "agent_verify_ca" // what it is verified with
	InfoAgentVersion   = "agent_version"   // of the ramdisk
	InfoAgentStatus    = "agent_status"    // as the ramdisk told it
	InfoAgentMessage   = "agent_status_message"
	InfoLastHeartbeat  = "agent_last_heartbeat"
	InfoToken          = "agent_secret_token" // reference of the ramdisk's token
	InfoPregenerated   = "agent_secret_token_pregenerated"
	InfoManagerVersion = "hardware_manager_version" // of the ramdisk's steps
	InfoCachedClean    = "agent_cached_clean_steps"
	InfoCachedDeploy   = "agent_cached_deploy_steps"

	InfoWholeDisk       = "is_whole_disk_image"
	InfoDeploySteps     = "deploy_steps"
	InfoAutomaticLessee = "automatic_lessee" // the lessee was set by the deployment and goes with it
	InfoPowerFailures   = "power_failures"   // failed reads of the power state in a row

	// InfoAgentAttempted tells that a servicing booted, or tried to boot, a ramdisk
	// in place of the instance: who aborts a failed one has to boot the instance
	// again (Ironic: driver_internal_info/agent_start_attempted).
	InfoAgentAttempted = "agent_start_attempted"
)
