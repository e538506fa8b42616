package import PowerSyncServiceCore

/// A position in the binary log of a server: a place between two events of a file.
///
/// ```
/// EEEE-NNNNNNNNNN-OOOOOOOOOOOO-SSSSSSSS        0000-0000000042-0000000004D2-6A8512CA
/// epoch  file number   offset      stamp
/// hex    decimal       hex         hex         upper case
/// ```
///
/// - The epoch is 0; other numbers are kept free.
/// - The file number is the one in the name of the file: `42` of `binlog.000042`. The rest of the name is a part of the history.
/// - The offset is that of the end of an event, 48 bits: the 32 bits in the headers of events are extended before.
/// - The stamp tells the file from another one with the same number (``FileStamp``). It is the same for all positions of a file, so
///   positions order as the log does.
package struct LogPosition: Hashable, Sendable {
    /// The offset of the first event of each file, behind the four bytes that say what the file is.
    package static let startOfFile: UInt64 = 4

    /// The number of the file.
    package var file: UInt32
    /// The offset in the file, in bytes.
    package var offset: UInt64
    /// The stamp of the file.
    package var stamp: UInt32

    /// Creates a position.
    package init(file: UInt32, offset: UInt64, stamp: UInt32) {
        self.file = file
        self.offset = offset
        self.stamp = stamp
    }

    /// Reads a position; `nil` for one of another source.
    package init?(_ lsn: LSN) {
        let fields = lsn.rawValue.split(separator: "-", omittingEmptySubsequences: false)
        guard fields.count == 4, fields[0] == "0000", fields[1].utf8.count == 10, fields[2].utf8.count == 12,
            fields[3].utf8.count == 8, let file = UInt32(fields[1]), file <= LogFileName.maximumNumber,
            let offset = UInt64(fields[2], radix: 16), let stamp = UInt32(fields[3], radix: 16)
        else { return nil }
        self.init(file: file, offset: offset, stamp: stamp)
        // Signs and lower case are not of this form.
        guard self.lsn == lsn else { return nil }
    }

    /// The position as text: 37 characters.
    package var lsn: LSN {
        LSN("0000-\(Self.padded(String(file), 10))-\(Self.hex(offset, 12))-\(Self.hex(UInt64(stamp), 8))")
    }

    private static func hex(_ number: UInt64, _ digits: Int) -> String {
        padded(String(number, radix: 16, uppercase: true), digits)
    }

    private static func padded(_ digits: String, _ count: Int) -> String {
        String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
}

extension LogPosition: Comparable {
    /// The order of the log.
    package static func < (lhs: LogPosition, rhs: LogPosition) -> Bool {
        (lhs.file, lhs.offset, lhs.stamp) < (rhs.file, rhs.offset, rhs.stamp)
    }
}

extension LogPosition: CustomStringConvertible {
    /// What a position is called in sentences: `offset 1234 of file 42`.
    package var description: String { "offset \(offset) of file \(file)" }
}

/// The name of a file of the log: `binlog.000042`.
package struct LogFileName: Hashable, Sendable {
    /// The highest number that servers give a file.
    package static let maximumNumber: UInt32 = 2_147_483_647

    /// What all files of the log have in common: `binlog`.
    package var base: String
    /// The number of the file.
    package var number: UInt32

    /// Creates a name.
    package init(base: String, number: UInt32) {
        self.base = base
        self.number = number
    }

    /// Reads a name; `nil` when it has no number at the end, or begins with a folder.
    package init?(_ name: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex, !name.contains("/"), !name.contains("\\")
        else { return nil }
        let digits = name[name.index(after: dot)...]
        guard digits.utf8.count >= 6, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt32(digits), number <= Self.maximumNumber
        else { return nil }
        base = String(name[..<dot])
        self.number = number
    }
}

extension LogFileName: CustomStringConvertible {
    /// The name as the server writes it: at least six digits.
    package var description: String {
        let digits = String(number)
        return "\(base).\(String(repeating: "0", count: max(0, 6 - digits.utf8.count)))\(digits)"
    }
}

/// Where a transaction of the log begins, as ``SourceMoment``: 24 bits of the file's number, and 40 of the offset.
///
/// Of two moments whose files are less than 8 million apart, the earlier one is known.
package struct LogMoment: Hashable, Sendable {
    private static let offsetBits = 40
    private static let fileMask: UInt32 = (1 << 24) - 1

    private let file: UInt32
    private let offset: UInt64

    /// The moment of a transaction whose first event begins at an offset of a file.
    package init(file: UInt32, start: UInt64) {
        self.file = file & Self.fileMask
        offset = min(start, (1 << Self.offsetBits) - 1)
    }

    /// Reads a moment.
    package init(_ moment: SourceMoment) {
        file = UInt32(truncatingIfNeeded: moment.rawValue >> Self.offsetBits)
        offset = moment.rawValue & ((1 << Self.offsetBits) - 1)
    }

    /// The moment as the core knows it.
    package var moment: SourceMoment { SourceMoment(rawValue: UInt64(file) << Self.offsetBits | offset) }

    /// Whether the transaction is before a position between two transactions.
    package func isBefore(_ position: LogPosition) -> Bool {
        // The difference of two numbers of 24 bits, with its sign.
        let distance = Int32(bitPattern: (position.file &- file) << 8) >> 8
        return distance > 0 || distance == 0 && position.offset > offset
    }
}
