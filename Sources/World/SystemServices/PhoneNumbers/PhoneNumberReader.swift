// SPDX-License-Identifier: Apache-2.0

import CPhoneNumbers

/// Reads telephone numbers by the rules of every country.
public struct PhoneNumberReader: Sendable {
    /// Two letters (ISO 3166) of the country whose national numbers are understood; nil: only international ones are.
    public let region: String?

    /// nil: there is no such region.
    public init?(region: String?) {
        let region = region?.uppercased()
        if let region { guard unsafe handset_phone_region(region) != 0 else { return nil } }
        self.region = region
    }

    /// Country code and national number as one integer: 8613800000000 for "+86 138 0000 0000". nil: `text` is no possible number.
    public func read(_ text: String) -> Int64? {
        guard text.utf8.count <= 64 else { return nil }
        let number = unsafe handset_phone_number(text, text.utf8.count, region ?? "")
        return number > 0 ? number : nil
    }

    /// Numbers for a directory: read, sorted as numbers, each once. What is no number comes back beside them.
    public func list(_ texts: some Sequence<String>) -> (numbers: [Int64], unread: [String]) {
        var numbers: Set<Int64> = []
        var unread: [String] = []
        for text in texts {
            if let number = read(text) { numbers.insert(number) } else { unread.append(text) }
        }
        return (numbers.sorted(), unread)
    }
}
