/*
 * The definitions of the tools of facet secrets, as own_tools.h describes them.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_TOOLS_SECRETS_DEFINITIONS_H
#define KENNEL_SUPERVISOR_SERVE_TOOLS_SECRETS_DEFINITIONS_H

extern const char secrets_list_definition[], secrets_describe_definition[],
    secrets_request_provision_definition[], secrets_request_rotation_definition[],
    secrets_propose_metadata_definition[], secrets_propose_new_path_definition[],
    secrets_request_use_approval_definition[], secrets_poll_status_definition[];

#endif
