import PowerSyncProtocol
import PowerSyncSQLite

/// Binds a row's JSON to the parameters of a put statement (docs/database.md "Raw tables").
///
/// Values go from the text to the parameters as bytes:
///
/// | JSON | parameter |
/// | --- | --- |
/// | missing, `null` | NULL |
/// | array, object | NULL; in a direct table the text, without blanks |
/// | `true`, `false` | 1, 0 |
/// | integer of 64 bits | integer |
/// | other number | double |
/// | string | text |
///
/// `@safe`: the texts of a row are removed before those of the next one are read.
@safe struct RawTableBinding {
    private enum Source {
        case id
        /// An index in ``names``, and that of the name to use for rows without a member of the first one.
        case member(Int, former: Int?)
        case rest
    }

    private let sources: [Source]
    /// The members that are not part of the rest, in the order of their bytes.
    private let names: [[UInt8]]
    private let hasRest: Bool
    /// Whether rows are those of a direct table, whose values are those that a view would read.
    private let isDirect: Bool

    private var members = JSONMembers()
    /// The texts of the values for ``names``; `nil` for what is missing.
    private var values: [UnsafeRawBufferPointer?] = unsafe []
    /// The object of the other members; empty if there are none.
    private var rest = JSONBytes()

    /// Prepares for a statement with these parameters.
    init(_ parameters: [ClientRawTable.Parameter], direct: ClientRawTable.Direct? = nil) {
        isDirect = direct != nil
        func former(_ name: String) -> [UInt8]? { direct?.formerNames[ExactText(name)].map { Array($0.utf8) } }
        let names = Set(
            parameters.flatMap { parameter -> [[UInt8]] in
                switch parameter {
                case .id: [Array("id".utf8)]
                case .column(let name): [Array(name.utf8)] + (former(name).map { [$0] } ?? [])
                case .rest: []
                }
            }
        ).sorted { $0.lexicographicallyPrecedes($1) }
        let places = Dictionary(uniqueKeysWithValues: zip(names, names.indices))
        sources = parameters.map { parameter in
            switch parameter {
            case .id: .id
            case .column(let name):
                places[Array(name.utf8)].map { .member($0, former: former(name).flatMap { places[$0] }) } ?? .rest
            case .rest: .rest
            }
        }
        hasRest = parameters.contains(.rest)
        self.names = names
    }

    /// Binds a row.
    ///
    /// - Parameters:
    ///   - id: The id, in memory until the statement has run.
    ///   - data: The JSON object, in memory until the statement has run.
    ///   - statement: The statement, without bound values.
    /// - Throws: ``LocalDatabaseError`` with code `corruptLocalData` when the data of a raw table is not a JSON object; GRDB's `DatabaseError`
    ///   when a value is longer than the connection allows.
    mutating func bind(
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer,
        to statement: PreparedStatement
    ) throws {
        do throws(JSONError) {
            try unsafe members.read(data, nulls: .kept, duplicates: isDirect ? .first : .last)
        } catch {
            // A view reads NULL in every column of what is no object.
            guard !isDirect else {
                members.removeAll()
                return try unsafe bindMembers(id: id, to: statement)
            }
            throw LocalDatabaseError(
                .corruptLocalData,
                "invalid local data: the row is not a JSON object: \(error.description)"
            )
        }
        try unsafe bindMembers(id: id, to: statement)
    }

    private mutating func bindMembers(id: UnsafeRawBufferPointer, to statement: PreparedStatement) throws {
        sortMembers()
        for (index, source) in zip(CInt(1)..., sources) {
            switch source {
            case .id: try unsafe statement.bind(checkedText: id, at: index, .inPlace)
            case .member(let name, let former):
                let value = unsafe values[name] ?? former.flatMap { unsafe values[$0] }
                try unsafe bind(value, to: statement, at: index)
            case .rest where rest.isEmpty: break
            case .rest:
                try unsafe rest.withUnsafeBytes { try unsafe statement.bind(checkedText: $0, at: index, .copied) }
            }
        }
    }

    /// Finds the value of each name, and puts the other members into the rest.
    ///
    /// Members and names are both in the order of their bytes.
    private mutating func sortMembers() {
        unsafe values.removeAll(keepingCapacity: true)
        rest.removeAll()
        for member in 0..<members.count {
            var order = 1
            while unsafe values.count < names.count, order > 0 {
                let name = unsafe names[values.count]
                order = unsafe members.withName(member) { bytes in
                    unsafe name.withUnsafeBytes { unsafe JSONSlice.order(bytes, $0) }
                }
                if order >= 0 { unsafe values.append(order == 0 ? members.value(member) : nil) }
            }
            if order != 0, hasRest { addToRest(member) }
        }
        while unsafe values.count < names.count { unsafe values.append(nil) }
        if !rest.isEmpty { rest.append("}") }
    }

    private mutating func addToRest(_ member: Int) {
        rest.append(rest.isEmpty ? "{" : ",")
        unsafe members.withName(member) { unsafe rest.appendString($0) }
        rest.append(":")
        unsafe JSONSlice.append(members.value(member), to: &rest)
    }

    /// Binds a value; what is not bound is NULL.
    private func bind(_ value: UnsafeRawBufferPointer?, to statement: PreparedStatement, at index: CInt) throws {
        guard let value = unsafe value else { return }
        var scanner = unsafe JSONScanner(value)
        switch unsafe value.first {
        case UInt8(ascii: "\""):
            guard let string = try? scanner.readString() else { return }
            if string.hasEscapes {
                try unsafe string.unescapedBytes.withUnsafeBytes {
                    try unsafe statement.bind(checkedText: $0, at: index, .copied)
                }
            } else {
                let text = unsafe UnsafeRawBufferPointer(rebasing: value[1..<value.count - 1])
                try unsafe statement.bind(checkedText: text, at: index, .inPlace)
            }
        case UInt8(ascii: "t"):
            statement.bind(Int64(1), at: index)
        case UInt8(ascii: "f"):
            statement.bind(Int64(0), at: index)
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            guard isDirect else { return }
            try unsafe Self.withoutBlanks(value).withUnsafeBytes {
                try unsafe statement.bind(checkedText: $0, at: index, .copied)
            }
        case UInt8(ascii: "n"):
            return
        default:
            guard let number = try? scanner.readNumber() else { return }
            if let integer = number.integer {
                statement.bind(integer, at: index)
            } else {
                statement.bind(number.double, at: index)
            }
        }
    }

    /// The text of an object or array without the blanks between its parts.
    static func withoutBlanks(_ json: UnsafeRawBufferPointer) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(json.count)
        var (isInString, isEscaped) = (false, false)
        for index in json.indices {
            let byte = unsafe json[index]
            if isInString || ![0x20, 0x09, 0x0a, 0x0d].contains(byte) { text.append(byte) }
            if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
            isEscaped = isInString && !isEscaped && byte == UInt8(ascii: "\\")
        }
        return text
    }
}
