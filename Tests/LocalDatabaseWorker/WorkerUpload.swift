/// An entry of the upload queue, as a worker sends it to the backend.
package struct WorkerUpload: Codable, Sendable {
    /// Where the backend takes a list of these.
    package static let path = "/upload"

    /// The row of `items`.
    package var row: String
    /// The title; `nil` deletes the row.
    package var title: String?
    /// The id of the entry.
    package var entry: Int64
}

/// A row that a worker writes while it syncs, known by its number alone.
package struct WorkerRow: Sendable {
    /// The title of all of them.
    package static let title = "local"

    /// Which one it is.
    package let number: Int

    /// Creates a row.
    package init(_ number: Int) {
        self.number = number
    }

    /// The id; ids of other rows begin with another letter.
    package var id: String { "w\(number)" }
}
