public import Foundation

extension SqlCursor {
    /// The bytes in a column; of a text its UTF-8 bytes.
    ///
    /// - Throws: ``SqlCursorError/nullValueFound(_:)`` for NULL and for an index out of range.
    public func getData(index: Int) throws(SqlCursorError) -> Data {
        guard let data = getDataOptional(index: index) else {
            throw .nullValueFound(index >= 0 && index < columnCount ? String(index) : "invalid index \(index)")
        }
        return data
    }

    /// The bytes in a column, `nil` for NULL and for an index out of range.
    public func getDataOptional(index: Int) -> Data? {
        // ``SqlCursor`` cannot require it: apps have conformers of their own, which read texts.
        guard let cursor = self as? RowCursor else {
            return getStringOptional(index: index).map { Data($0.utf8) }
        }
        return cursor.getDataOptional(index: index)
    }

    /// The bytes in a column.
    ///
    /// - Throws: ``SqlCursorError`` when there is no such column, or when it holds NULL.
    public func getData(name: String) throws -> Data {
        try required(name, getDataOptional(index:))
    }

    /// The bytes in a column, `nil` for NULL.
    ///
    /// - Throws: ``SqlCursorError/columnNotFound(_:)`` when there is no such column.
    public func getDataOptional(name: String) throws -> Data? {
        getDataOptional(index: try index(of: name))
    }
}
