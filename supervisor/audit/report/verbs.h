/*
 * The verbs of `kennel audit` that are more than a query: argv[0] is the verb, each
 * returns an exit status.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_REPORT_VERBS_H
#define KENNEL_SUPERVISOR_AUDIT_REPORT_VERBS_H

typedef int audit_verb_fn(int argc, char **argv);

audit_verb_fn certify_main, export_main, pack_main, page_main, payload_main,
    policy_text_main, prove_main, prune_main, prune_payloads_main, prune_policies_main,
    rotate_main, tiles_main, verify_proof_main, witness_main;

#endif
