import GRDBSQLite
import PowerSyncProtocol

/// Writes the columns of a row as a JSON object, for the triggers of views.
///
/// | value | JSON |
/// | --- | --- |
/// | NULL (and NaN, which SQLite turns into NULL) | `null` |
/// | integer | its digits |
/// | real | a text that names exactly this double: `0.1`, `1.0`, `-0.0`, `1e21` |
/// | text | a string; `"`, `\` and control characters are escaped, NUL too |
/// | BLOB, infinity, text that is not UTF-8 | refused: ``ColumnRefusal`` |
///
/// This is the same on every version of SQLite, whose own `json_object` rounds doubles to 15 or to 17 digits, takes a BLOB that
/// looks like JSONB for JSON (3.45 and newer), and writes infinities as `Inf` or `9.0e+999`.
///
/// A row that came from elsewhere can hold what is refused here, or what SQLite does not read as it is: the service may send
/// infinities, JSON can name halves of surrogate pairs, and SQLite 3.40 ends a text at its NUL. An update of other columns must not
/// fail for that, nor change it. So an update hands over the old values, and the row that is stored, whose text is copied for a
/// value that the update leaves as it is. A value that the stored row does not have is written in any case: infinities as `9e999`,
/// which SQLite reads as infinity again.
///
/// Its memory is used again for the next row, unless it is large.
struct RowObjectWriter {
    /// What the object is for.
    enum Purpose {
        /// It is stored: all columns, in the order of the names.
        case row
        /// It is uploaded: the columns that are not null; of an update, those that it changes.
        case upload
        /// It tells what was there: all columns, or those that were different later. Nothing is refused: infinities are the
        /// texts `Infinity` and `-Infinity`, and BLOBs are NULL.
        case record
    }

    private(set) var output = JSONBytes()
    private var isForQueue = false
    /// The names with their quotes, in the list that is used.
    private var names: [Range<Int>] = []
    /// The lists of names that were read last: triggers hand over the same ones for each row.
    private var knownNames: [(list: [UInt8], names: [Range<Int>])] = []
    /// The row that an update changes.
    private var stored = JSONMembers()

    /// Writes an object and lends its bytes.
    ///
    /// - Parameters:
    ///   - purpose: What the object is for.
    ///   - table: The table's name, for refusals.
    ///   - nameList: The names of the columns, as a JSON array.
    ///   - values: The arguments after those: a value for each name, then nothing or another value for each name. The others are
    ///     the old values of an update, or for ``Purpose/record`` the later ones. After old values may come the stored row.
    ///   - doubleText: Finds texts for doubles.
    ///   - body: Called with the object.
    /// - Throws: ``ColumnRefusal``, and ``LocalDatabaseError`` when names and values do not fit together.
    mutating func withObject(
        _ purpose: Purpose,
        of table: SQLArgument?,
        names nameList: UnsafeRawBufferPointer,
        values: SQLArguments,
        _ doubleText: DoubleText,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws {
        try unsafe findNames(nameList)
        let hasOthers = values.count != names.count
        let hasStored = purpose == .row && values.count == 2 * names.count + 1
        guard !hasOthers || hasStored || values.count == 2 * names.count else {
            throw LocalDatabaseError.invalidArgument(
                "expected a value for each name, or two",
                cause: "\(names.count.counted("name")), \(values.count.counted("value"))"
            )
        }
        output.removeAll()
        defer {
            output.giveUpLargeMemory()
            stored.giveUpLargeMemory()
        }
        if hasStored { readStored(values[values.count - 1]) }
        isForQueue = purpose != .row
        output.append(UInt8(ascii: "{"))
        for (index, name) in names.enumerated() {
            var value = values[index]
            let isUnchanged: Bool
            if hasOthers {
                let other = values[names.count + index]
                isUnchanged = value.isSame(as: other)
                if isUnchanged {
                    guard purpose == .row else { continue }
                    value = other
                }
            } else {
                isUnchanged = false
                if purpose == .upload, value.isNull { continue }
            }
            if output.count > 1 { output.append(UInt8(ascii: ",")) }
            let quotedName = unsafe UnsafeRawBufferPointer(rebasing: nameList[name])
            unsafe output.append(quotedName)
            output.append(UInt8(ascii: ":"))
            if hasStored, isUnchanged, let text = unsafe storedValue(quotedName) {
                unsafe output.append(text)
                continue
            }
            let refusal: ColumnRefusal.Reason?
            switch purpose {
            case .row: refusal = append(value, mustKeep: isUnchanged, doubleText.readable)
            case .upload: refusal = append(value, mustKeep: false, doubleText.shortest)
            case .record:
                appendRecorded(value, doubleText)
                refusal = nil
            }
            if let refusal {
                throw unsafe ColumnRefusal(
                    table: table?.string ?? "",
                    column: Self.unquoted(quotedName),
                    reason: refusal
                )
            }
        }
        output.append(UInt8(ascii: "}"))
        unsafe output.withUnsafeBytes(body)
    }

    /// Whether these are the bytes of the last object, and that was made for the upload queue.
    ///
    /// A large object is not remembered.
    func wroteLast(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe isForQueue && !output.isEmpty && output.equals(bytes)
    }

    private mutating func findNames(_ list: UnsafeRawBufferPointer) throws {
        if let known = knownNames.first(where: { unsafe $0.list.equals(list) }) {
            names = known.names
            return
        }
        names = []
        try unsafe readNames(list)
        guard list.count <= Self.longestKnownList else { return }
        if knownNames.count == Self.knownLists { knownNames.removeFirst() }
        unsafe knownNames.append((Array(list), names))
    }

    /// How many lists of names are remembered: the triggers of a row hand over two or three.
    private static let knownLists = 4
    /// The longest list that is remembered, in bytes.
    private static let longestKnownList = 4_096

    private mutating func readNames(_ list: UnsafeRawBufferPointer) throws {
        do throws(JSONError) {
            var scanner = unsafe JSONScanner(list)
            try scanner.beginArray()
            while try scanner.nextElement() {
                let name = try scanner.readString()
                names.append(name.offset - 1..<name.offset + name.bytes.count + 1)
            }
            try scanner.finish()
        } catch {
            throw LocalDatabaseError.invalidArgument("expected a JSON array of names", cause: error.description)
        }
    }

    /// Reads the members of the stored row; there are none if it is not JSON as we know it.
    private mutating func readStored(_ row: SQLArgument) {
        if unsafe !row.isText || (try? stored.read(row.bytes, nulls: .kept, duplicates: .first)) == nil {
            stored.removeAll()
        }
    }

    /// The text of a value in the stored row.
    private func storedValue(_ quotedName: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard stored.count > 0 else { return nil }
        let inner = unsafe UnsafeRawBufferPointer(rebasing: quotedName.dropFirst().dropLast())
        guard unsafe inner.contains(UInt8(ascii: "\\")) else {
            return unsafe stored.firstIndex(named: inner).map(stored.value)
        }
        var name = unsafe Self.unquoted(quotedName)
        return unsafe name.withUTF8 { unsafe stored.firstIndex(named: UnsafeRawBufferPointer($0)) }.map(
            unsafe stored.value
        )
    }

    private static func unquoted(_ name: UnsafeRawBufferPointer) -> String {
        var scanner = unsafe JSONScanner(name)
        return (try? scanner.readString().string) ?? ""
    }

    // MARK: - Values

    /// Appends a value as it is.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - mustKeep: Whether it is written although it would be refused.
    ///   - text: The text of a finite number.
    /// - Returns: Why the value is refused.
    private mutating func append(
        _ value: SQLArgument,
        mustKeep: Bool,
        _ text: (Double) -> String
    ) -> ColumnRefusal.Reason? {
        switch value.storageClass {
        case .null: output.append("null")
        case .integer(let integer): output.append(integer)
        case .real(let real):
            if real.isFinite {
                output.append(text(real))
            } else {
                guard mustKeep else { return .infinity }
                output.append(real < 0 ? "-9e999" : "9e999")
            }
        case .text(let bytes):
            if mustKeep {
                unsafe output.appendString(bytes)
            } else {
                guard unsafe output.appendValidString(bytes) else { return .invalidUTF8 }
            }
        case .blob:
            return .blob
        }
        return nil
    }

    /// Appends a value, or a text that stands for it.
    private mutating func appendRecorded(_ value: SQLArgument, _ doubleText: DoubleText) {
        switch value.storageClass {
        case .null, .blob: output.append("null")
        case .integer(let integer): output.append(integer)
        case .real(let real):
            output.append(
                real.isFinite ? doubleText.shortest(real) : real < 0 ? "\"-Infinity\"" : "\"Infinity\""
            )
        case .text(let bytes):
            // What is not UTF-8 becomes U+FFFD.
            var text = unsafe String(decoding: bytes, as: UTF8.self)
            text.withUTF8 { unsafe output.appendString(UnsafeRawBufferPointer($0)) }
        }
    }
}
