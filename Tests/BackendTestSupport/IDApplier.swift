package import PowerSyncUpload

/// An applier of uploads over a table `items (id, note)`, for `IDChecks`.
///
/// Everything but ``apply(_:as:)`` goes past the applier, through the database itself.
package protocol IDApplier: Sendable {
    /// Whether writes pass a rule, `write.entry.id == write.user.id`, which is shown the stored row.
    var hasRule: Bool { get }

    /// Removes all rows.
    func clear() async throws

    /// Stores a row with a note.
    ///
    /// - Returns: Whether the table has taken it.
    func insert(_ id: String, note: String) async throws -> Bool

    /// Whether the database finds a row when the column of the ids is compared with a text.
    func finds(_ id: String) async throws -> Bool

    /// The notes of all rows, by the text of the id that clients get to see.
    func rows() async throws -> [IDRow]

    /// Applies a write of a user.
    ///
    /// - Returns: The answer, and the note of the row that the rule was shown; `nil` when it was shown none.
    func apply(_ entry: UploadEntry, as user: String) async throws -> (response: UploadResponse, shown: String?)
}

/// A row of the table.
package struct IDRow: Hashable, Sendable {
    /// UTF-8: two `String`s may be equal and differ in it.
    package let id: [UInt8]
    package let note: String

    package init(_ id: String, _ note: String) {
        self.id = Array(id.utf8)
        self.note = note
    }
}
