/// Where an event lies in the log.
package struct BinlogPlace: Sendable, Hashable {
    /// Offsets are below: 2⁴⁸.
    static let offsetLimit: UInt64 = 1 << 48

    /// The name of the log file: `binlog.000042`.
    package var file: String
    /// The offset of the first byte of the event in the file.
    ///
    /// An artificial event lies nowhere: it has the offset where the log was read to, as its start and its end.
    package var start: UInt64
    /// The offset of the first byte after the event.
    package var end: UInt64

    /// A place.
    package init(file: String, start: UInt64, end: UInt64) {
        self.file = file
        self.start = start
        self.end = end
    }
}
