// SPDX-License-Identifier: Apache-2.0
//
// An application imports `Handset` alone: the words that the face speaks come along.

@_exported import Crypto
@_exported import Essentials
@_exported import EventPackages
@_exported import Media
@_exported import PhoneCore
@_exported import SIP
@_exported import SIPAgent
