// SPDX-License-Identifier: Apache-2.0
#include "harness.h"
#include <osipparser2/osip_parser.h>
#include <osipparser2/osip_message.h>
const char *lib_name = "osip2";
void lib_setup(void) { parser_init(); }
int lib_parse(int idx, char *buf, size_t len, int *hdrs) {
    (void)idx; osip_message_t *m = NULL; int rc = osip_message_init(&m);
    if (rc) return rc;
    rc = osip_message_parse(m, buf, len);
    if (!rc) *hdrs = osip_list_size(&m->headers) + osip_list_size(&m->vias) + osip_list_size(&m->contacts) +
        osip_list_size(&m->record_routes) + osip_list_size(&m->routes) + osip_list_size(&m->allows) +
        osip_list_size(&m->www_authenticates) + osip_list_size(&m->accepts) + 4 +
        (m->content_type != NULL) + (m->content_length != NULL);
    osip_message_free(m); return rc;
}
