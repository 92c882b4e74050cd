// SPDX-License-Identifier: Apache-2.0

/// The Date field (RFC 3261 §20.17): always GMT.
public struct SIPDate: Sendable, Hashable, CustomStringConvertible {
    public var year: Int
    public var month: Int
    public var day: Int
    public var hour: Int
    public var minute: Int
    public var second: Int

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

    /// Reads `Sat, 13 Nov 2010 23:29:00 GMT`.
    public init(_ text: String) throws(SIPError) {
        let parts = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == ":" })
        guard parts.count == 8, parts[7] == "GMT", Self.weekdays.contains(String(parts[0])),
            let month = Self.months.firstIndex(of: String(parts[2])),
            let day = Int(parts[1]), let year = Int(parts[3]), let hour = Int(parts[4]), let minute = Int(parts[5]),
            let second = Int(parts[6]), (1...31).contains(day), (1...9999).contains(year), (0..<24).contains(hour),
            (0..<60).contains(minute), (0...60).contains(second)
        else { throw SIPError(.field) }
        self.year = year
        self.month = month + 1
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// From seconds since 1970-01-01 00:00:00 UTC, in the years 1 to 9999.
    public init(secondsSince1970 seconds: Int64) {
        let clamped = min(max(seconds, -62_135_596_800), 253_402_300_799)
        let days = clamped >= 0 ? clamped / 86_400 : (clamped - 86_399) / 86_400
        let rest = Int(clamped - days * 86_400)
        // Days since 0000-03-01 of the proleptic Gregorian calendar, in eras of 400 years.
        let z = days + 719_468
        let era = (z >= 0 ? z : z - 146_096) / 146_097
        let doe = z - era * 146_097
        let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100)
        let mp = (5 * doy + 2) / 153
        day = Int(doy - (153 * mp + 2) / 5 + 1)
        month = Int(mp < 10 ? mp + 3 : mp - 9)
        year = Int(yoe + era * 400) + (month <= 2 ? 1 : 0)
        hour = rest / 3_600
        minute = rest / 60 % 60
        second = rest % 60
    }

    /// Seconds since 1970-01-01 00:00:00 UTC.
    public var secondsSince1970: Int64 {
        let y = Int64(min(max(year, 1), 9999)) - (month <= 2 ? 1 : 0)
        let era = y / 400
        let yoe = y - era * 400
        let shifted = Int64(min(max(month, 1), 12)) + (month > 2 ? -3 : 9)
        let doy = (153 * shifted + 2) / 5 + Int64(min(max(day, 1), 31)) - 1
        let days = era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
        return days * 86_400 + Int64(min(max(hour, 0), 23)) * 3_600 + Int64(min(max(minute, 0), 59)) * 60
            + Int64(min(max(second, 0), 60))
    }

    public var description: String {
        func two(_ value: Int) -> String { value < 10 ? "0\(max(value, 0))" : "\(min(value, 99))" }
        let days = secondsSince1970 / 86_400 - (secondsSince1970 % 86_400 < 0 ? 1 : 0)
        let weekday = Self.weekdays[Int(((days + 3) % 7 + 7) % 7)]
        let name = Self.months[min(max(month, 1), 12) - 1]
        let digits = "\(min(max(year, 1), 9999))"
        let padded = String(repeating: "0", count: 4 - digits.utf8.count) + digits
        return "\(weekday), \(two(day)) \(name) \(padded) \(two(hour)):\(two(minute)):\(two(second)) GMT"
    }
}
