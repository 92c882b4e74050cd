// SPDX-License-Identifier: Apache-2.0
//
// Writing messages. Values are kept back to back in one array until `build` puts them in order; each is looked at once,
// and nothing in it can end its line.

/// Makes a message: canonical names, one field a line, Content-Length last.
public struct MessageBuilder: Sendable {
    struct Field: Sendable {
        var id: HeaderID
        /// Only for names that are not in the table.
        var name: ByteRange
        var value: ByteRange
    }

    private(set) var text: [UInt8] = []
    private(set) var startLine = ByteRange.none
    private(set) var fields: [Field] = []
    private var body: [UInt8] = []
    /// nil for a response.
    private var request: Method?

    private static let statusLineStart: [UInt8] = [0x53, 0x49, 0x50, 0x2f, 0x32, 0x2e, 0x30, 0x20]

    /// A request with no fields yet.
    public init(request method: Method, uri: URI) {
        reserve()
        request = method
        setRequestURI(uri)
    }

    /// A response with no fields yet. A status outside 100...699 is 500.
    public init(status: Int, reason: String? = nil) {
        reserve()
        let code = UInt8(clamping: ((100..<700).contains(status) ? status : 500) / 100)
        let rest = (100..<700).contains(status) ? status % 100 : 0
        text.append(contentsOf: Self.statusLineStart)
        text.append(0x30 &+ code)
        text.append(0x30 &+ UInt8(clamping: rest / 10))
        text.append(0x30 &+ UInt8(clamping: rest % 10))
        text.append(0x20)
        _ = write(reason ?? defaultReasonPhrase(status))
        startLine = ByteRange(0, text.count)
    }

    /// Everything of `message` but its Content-Length, which is counted anew; folds become one space.
    public init(copying message: SIPMessage) {
        reserve()
        if message.isRequest {
            request = message.method
            let method = message.method.rawValue
            startLine = write("\(method) \(message.text(in: message.requestURIRange)) SIP/2.0")
        } else {
            startLine = write("SIP/2.0 \(message.statusCode) \(message.text(in: message.index.reason))")
        }
        for slot in message.index.slots where slot.id != .contentLength { copy(slot, of: message) }
        body = Array(message.body)
    }

    private mutating func reserve() {
        text.reserveCapacity(1024)
        fields.reserveCapacity(20)
    }

    // MARK: Fields

    /// Adds a field behind the others.
    public mutating func add(_ name: HeaderName, _ value: String) { fields.append(field(name, value)) }

    /// Adds a field before the others.
    public mutating func prepend(_ name: HeaderName, _ value: String) { fields.insert(field(name, value), at: 0) }

    /// Puts one field in the place of the first of that name, removes the others, or adds it behind all.
    public mutating func set(_ name: HeaderName, _ value: String) {
        guard let place = fields.firstIndex(where: { isNamed($0, name) }) else { return add(name, value) }
        let new = field(name, value)
        removeAll(name)
        fields.insert(new, at: place)
    }

    public mutating func removeFirst(_ name: HeaderName) {
        if let place = fields.firstIndex(where: { isNamed($0, name) }) { fields.remove(at: place) }
    }

    public mutating func removeAll(_ name: HeaderName) {
        let kept = fields.filter { !isNamed($0, name) }
        fields = kept
    }

    /// Whether a field of that name is there.
    public func contains(_ name: HeaderName) -> Bool { fields.contains { isNamed($0, name) } }

    /// The value of the first field of that name.
    public func first(_ name: HeaderName) -> String? {
        fields.first { isNamed($0, name) }.map { $0.value.text(text) }
    }

    /// The values of all fields of that name in order, as they were added.
    public func values(_ name: HeaderName) -> [String] {
        fields.filter { isNamed($0, name) }.map { $0.value.text(text) }
    }

    /// The method of a request, nil for a response.
    public var method: Method? { request }

    /// Replaces the URI of the request line; nothing happens in a response.
    public mutating func setRequestURI(_ uri: URI) {
        guard let request else { return }
        let name = Text.isToken(request.rawValue) ? request.rawValue : "INVALID"
        startLine = write("\(name) \(uri) SIP/2.0")
    }

    /// Sets body and Content-Type; an empty body removes both.
    public mutating func setBody(_ bytes: [UInt8], type: String) {
        body = bytes
        if bytes.isEmpty { removeAll(.contentType) } else { set(.contentType, type) }
    }

    /// Copies all fields of that name, octet for octet but for folds.
    public mutating func copy(_ name: HeaderName, of message: SIPMessage) {
        for slot in message.index.slots where slot.id == name.id && (slot.id != .other || message.isNamed(slot, name)) {
            copy(slot, of: message)
        }
    }

    mutating func copy(_ slot: HeaderSlot, of message: SIPMessage) {
        var field = Field(id: slot.id, name: .none, value: .none)
        if slot.id == .other {
            let start = text.count
            text.append(contentsOf: message.bytes(in: ByteRange(Int(slot.nameStart), Int(slot.nameStart) &+ Int(slot.nameLength))))
            field.name = ByteRange(start, text.count)
        }
        field.value = copy(slot.value, of: message, isFolded: slot.isFolded)
        fields.append(field)
    }

    private mutating func copy(_ range: ByteRange, of message: SIPMessage, isFolded: Bool) -> ByteRange {
        let start = text.count
        let slice = range.slice(message.bytes)
        if isFolded { text.append(contentsOf: Text.unfolded(slice)) } else { text.append(contentsOf: slice) }
        // Only a message that was refused can hold a bare CR or LF; it is not to travel on.
        if message.index.problem != nil { blankLineEnds(start) }
        return ByteRange(start, text.count)
    }

    /// Copies the field at a place of the index, counted from 1; 0 is none.
    mutating func copy(_ place: UInt16, of message: SIPMessage) {
        let index = Int(place) &- 1
        if message.index.slots.indices.contains(index) { copy(message.index.slots[index], of: message) }
    }

    /// Adds To with a tag if it has none.
    mutating func copyTo(of message: SIPMessage, tag: String?) {
        copy(message.index.toSlot, of: message)
        guard let tag, !message.hasToTag, let last = fields.indices.last, fields[last].id == .to else { return }
        text.append(contentsOf: ";tag=".utf8)
        _ = write(tag)
        fields[last].value.end = UInt32(truncatingIfNeeded: text.count)
    }

    private func isNamed(_ field: Field, _ name: HeaderName) -> Bool {
        guard field.id == name.id else { return false }
        return field.id != .other || field.name.text(text).asciiLowercased == name.description.asciiLowercased
    }

    private mutating func field(_ name: HeaderName, _ value: String) -> Field {
        let nameRange = name.id == .other ? write(name.description) : .none
        return Field(id: name.id, name: nameRange, value: write(value))
    }

    private mutating func write(_ value: String) -> ByteRange {
        let start = text.count
        text.append(contentsOf: value.utf8)
        blankLineEnds(start, withNUL: true)
        return ByteRange(start, text.count)
    }

    /// CR and LF, and NUL in values of our own, become spaces: no value can add a line.
    private mutating func blankLineEnds(_ start: Int, withNUL: Bool = false) {
        var i = start
        let end = text.count
        while true {
            i = text.span.firstControl(i, end)
            guard i < end else { return }
            if text[i] == 0x0d || text[i] == 0x0a || (withNUL && text[i] == 0) { text[i] = 0x20 }
            i += 1
        }
    }

    // MARK: Building

    /// The octets of the message, with its Content-Length.
    public func serialized() -> [UInt8] {
        var index: MessageIndex?
        return emit(&index)
    }

    /// The message, with its Content-Length. Its fields are indexed while they are written.
    public func build() -> SIPMessage {
        var index: MessageIndex? = MessageIndex()
        let bytes = emit(&index)
        var done = index ?? MessageIndex()
        let span = bytes.span
        _ = done.readStartLine(span, 0, startLine.count, .default)
        done.settleHead(span)
        done.settleBody(bytes.count - body.count, bytes.count)
        done.settleFields(span)
        return SIPMessage(bytes, done)
    }

    private func emit(_ index: inout MessageIndex?) -> [UInt8] {
        let table = HeaderTable.shared
        var out: [UInt8] = []
        out.reserveCapacity(text.count + fields.count * 24 + body.count + 64)
        out.append(contentsOf: startLine.slice(text))
        out.append(0x0d)
        out.append(0x0a)
        index?.slots.reserveCapacity(fields.count + 1)
        for field in fields where field.id != .contentLength {
            emit(field.id, field.name.slice(text), field.value.slice(text), table, &out, &index)
        }
        emit(.contentLength, [], ArraySlice("\(body.count)".utf8), table, &out, &index)
        out.append(0x0d)
        out.append(0x0a)
        out.append(contentsOf: body)
        return out
    }

    private func emit(
        _ id: HeaderID, _ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>, _ table: HeaderTable, _ out: inout [UInt8],
        _ index: inout MessageIndex?
    ) {
        let start = out.count
        if id == .other {
            out.append(contentsOf: name)
            out.append(0x3a)
            out.append(0x20)
        } else {
            let place = Int(id.rawValue)
            out.append(contentsOf: table.text[Int(table.starts[place])..<Int(table.starts[place + 1])])
        }
        var slot = HeaderSlot(
            id: id, isFolded: false, nameLength: UInt16(truncatingIfNeeded: out.count - start - 2),
            nameStart: UInt32(truncatingIfNeeded: start), value: .none)
        let from = out.count
        out.append(contentsOf: value)
        slot.value = ByteRange(from, out.count)
        out.append(0x0d)
        out.append(0x0a)
        if index != nil { index?.note(slot) }
    }
}

extension SIPMessage {
    /// A response with what RFC 3261 §8.2.6 copies from the request: Via, From, To, Call-ID, CSeq, and Timestamp in a
    /// 100. `toTag` is added to To if it has no tag. Record-Route is the caller's to copy (`copy(.recordRoute, of:)`).
    public func makeResponse(status: Int, reason: String? = nil, toTag: String? = nil) -> MessageBuilder {
        var builder = MessageBuilder(status: status, reason: reason)
        for slot in index.slots where slot.id == .via { builder.copy(slot, of: self) }
        builder.copy(index.fromSlot, of: self)
        builder.copyTo(of: self, tag: toTag)
        builder.copy(index.callIDSlot, of: self)
        builder.copy(index.cseqSlot, of: self)
        if status == 100 { builder.copy(.timestamp, of: self) }
        return builder
    }
}
