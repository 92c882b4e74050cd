// SPDX-License-Identifier: Apache-2.0
/* libre decodes start line, top Via, To, From, CSeq, Call-ID etc. and only
 * indexes the other header fields; they are decoded when asked for.  Built
 * with -DFULL it also decodes every Via, Contact, route and challenge, which
 * is nearer to what pjsip does in one parse. */
#include "harness.h"
#include <re/re.h>
#ifdef FULL
const char *lib_name = "libre-full";
#else
const char *lib_name = "libre";
#endif
static struct mbuf *mb[MAXF];
void lib_setup(void) {
    libre_init();
    for (int i = 0; i < g_n; i++) { mb[i] = mbuf_alloc(g_len[i]); mbuf_write_mem(mb[i], (uint8_t *)g_buf[i], g_len[i]); }
}
#ifdef FULL
static bool each(const struct sip_hdr *h, const struct sip_msg *m, void *arg) {
    int *bad = arg; (void)m;
    switch (h->id) {
    case SIP_HDR_VIA: { struct sip_via v; if (sip_via_decode(&v, &h->val)) ++*bad; break; }
    case SIP_HDR_CONTACT: case SIP_HDR_ROUTE: case SIP_HDR_RECORD_ROUTE: {
        struct sip_addr a; if (sip_addr_decode(&a, &h->val)) ++*bad; break; }
    case SIP_HDR_WWW_AUTHENTICATE: { struct httpauth_digest_chall c; if (httpauth_digest_challenge_decode(&c, &h->val)) ++*bad; break; }
    case SIP_HDR_CONTENT_TYPE: { struct msg_ctype c; if (msg_ctype_decode(&c, &h->val)) ++*bad; break; }
    default: break;
    }
    return false;
}
#endif
int lib_parse(int idx, char *buf, size_t len, int *hdrs) {
    (void)buf; (void)len; struct sip_msg *m = NULL; mb[idx]->pos = 0;
    int rc = sip_msg_decode(&m, mb[idx]); if (rc) return rc;
    *hdrs = list_count(&m->hdrl);
#ifdef FULL
    { struct uri u; struct sip_addr a; int bad = 0;
      if (m->req && uri_decode(&u, &m->ruri)) bad++;
      if (sip_addr_decode(&a, &m->from.val)) bad++;
      if (sip_addr_decode(&a, &m->to.val)) bad++;
      sip_msg_hdr_apply(m, true, SIP_HDR_NONE, NULL, NULL);
      for (struct le *le = m->hdrl.head; le; le = le->next) each(le->data, m, &bad);
      if (bad) rc = -1; }
#endif
    mem_deref(m); return rc;
}
