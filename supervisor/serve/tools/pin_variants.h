/*
 * Which reviewed variant of a definition an agent gets (pin_variants.c).
 */
#ifndef KENNEL_SUPERVISOR_SERVE_TOOLS_PIN_VARIANTS_H
#define KENNEL_SUPERVISOR_SERVE_TOOLS_PIN_VARIANTS_H

#include <stdbool.h>
#include <stdint.h>

struct policy;
struct sealed_pin;
struct sealed_server;

/* Takes the pin at *at, and moves to the next one of another name or kind: *ret_fits is the
 * variant of it that an agent gets who can be asked for these: enum sealed_server_flag.
 * NULL: none, because it lacks capabilities. */
const struct sealed_pin *variant_next(const struct policy *, const struct sealed_server *,
    uint32_t can, uint32_t *at, const struct sealed_pin **ret_fits);
/* Something of it was reviewed for clients with some capability. */
bool variants_any(const struct policy *, const struct sealed_server *);

#endif
