// SPDX-License-Identifier: Apache-2.0

import Essentials

/// What the agent counts: every refusal, limit and oddity has its counter.
public enum AgentCounter: Int, CounterName {
    case callsOut, callsIn
    case directCallRefused, unansweredLimit, callLimit
    case mergedRequest, unknownDialog, lowSequence, methodNotAllowed, methodUnknown
    case sipsWithoutTLS
    case unsupportedScheme, unsupportedExtension, unsupportedMedia, notAcceptable
    case overlappingInvite, glare, requestFlood
    case repeatedSuccess, extraFork, earlyDialogLimit
    case unmatchedACK, missingACK, missingAnswer
    case challengeIgnored, challengeRoundsExceeded
    case contactRewritten, bindingMissing
    case reliableProgress, reliableProgressOutOfOrder, reliableProgressLimit
    case sessionIntervalRaised, sessionIntervalShort, sessionRefreshDue, sessionExpired
    case redirectionFollowed, redirectionLoop, redirectionLimit, redirectionUnusable
    case reliableRinging, missingPRACK, unmatchedPRACK
    case updatesIn, updatesOut
    case forkLimit, ackWithoutWay, ackGivenUp, byeDetours, byeUnanswered
    case referralsOut, referralsIn, referralRefused, referralUnusable, referralLimit, referralExpired, unknownReferral
    case callsReplaced, replacementRefused
    case subscriptions, subscriptionLimit, subscriptionForkLimit, subscriptionLost, notifications, notificationUnmatched
    case notificationUnsolicited, notificationWithoutState, badEvent, publications, publicationOutdated
    case subscribers, subscriberLimit, subscriberRefused, subscriberLost
    case messagesOut, messagesIn, messageTooLong, messageRefused
    case strayResponse, registrationFlowLost, outboundRefused
    case requestsOverConnection, requestsBackToDatagrams
    case registrationLimitReached, registrationsRefreshed, clockJumps
    case targetsGivenUp, connectionRaces
    case serviceRouteIgnored, gruuMissing, pushRefused
    case ringLimitReached
    case networkChecked, networkFollowed, registrationMoved, inviteReissued
}
