// SPDX-License-Identifier: Apache-2.0
#include "harness.h"
#include <sofia-sip/sip.h>
#include <sofia-sip/sip_header.h>
#include <sofia-sip/sip_parser.h>
#include <sofia-sip/msg.h>
#include <sofia-sip/msg_buffer.h>
#include <sofia-sip/msg_addr.h>
const char *lib_name = "sofia-sip";
static const msg_mclass_t *mc;
void lib_setup(void) { mc = sip_default_mclass(); }
int lib_parse(int idx, char *buf, size_t len, int *hdrs) {
    (void)idx; msg_t *m = msg_make(mc, 0, buf, len); if (!m) return -1;
    sip_t *s = sip_object(m); int bad = !s || (s->sip_flags & MSG_FLG_ERROR);
    if (!bad) {
        int n = -1; /* the chain starts with the start line */
        sip_header_t *h = s->sip_request ? (sip_header_t *)s->sip_request : (sip_header_t *)s->sip_status;
        for (; h; h = (sip_header_t *)h->sh_succ) n++;
        bad = !s->sip_via || !s->sip_from || !s->sip_to || !s->sip_call_id || !s->sip_cseq;
        *hdrs = n; /* includes the separator and the body */
    }
    msg_destroy(m); return bad;
}
