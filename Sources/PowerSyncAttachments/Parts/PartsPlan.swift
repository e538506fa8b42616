/// Which parts a file has, and which of them the storage has.
struct PartsPlan: Sendable, Equatable {
    /// The most parts that S3 makes a file of.
    static let partLimit = 10_000

    /// The size of the file in bytes.
    let size: Int64
    /// The size of each part but the last one, in bytes.
    let partSize: Int64
    private var stored: [Int: StoredAttachmentPart] = [:]

    /// Divides a file.
    ///
    /// - Parameters:
    ///   - size: The size of the file in bytes.
    ///   - partSize: The size of each part but the last one, in bytes.
    ///   - stored: The parts that were uploaded before.
    init(size: Int64, partSize: Int64, stored: some Sequence<StoredAttachmentPart> = []) {
        self.size = size
        self.partSize = partSize
        for part in stored { add(part) }
    }

    /// The size of parts for a file: the wanted one, or a larger one, in whole MiB, of which there are few enough.
    static func partSize(wanted: Int64, for size: Int64) -> Int64 {
        let mebibyte: Int64 = 1024 * 1024
        let least = (size + Int64(partLimit) - 1) / Int64(partLimit)
        return least <= wanted ? max(wanted, 1) : (least + mebibyte - 1) / mebibyte * mebibyte
    }

    /// How many parts there are.
    var count: Int { Int(size / partSize) + (size % partSize == 0 ? 0 : 1) }

    /// How many bytes the storage has.
    var storedBytes: Int64 { stored.values.reduce(0) { $0 + $1.size } }

    /// The parts that the storage has, in the order of their numbers.
    var parts: [StoredAttachmentPart] { stored.values.sorted { $0.number < $1.number } }

    /// The numbers of the parts that the storage does not have, in order.
    var missing: [Int] { count == 0 ? [] : (1...count).filter { stored[$0] == nil } }

    /// Where a part is in the file.
    func offset(of number: Int) -> Int64 { Int64(number - 1) * partSize }

    /// How many bytes a part has.
    func size(of number: Int) -> Int64 { min(partSize, size - offset(of: number)) }

    /// A part was uploaded; one that the file does not have is left out.
    mutating func add(_ part: StoredAttachmentPart) {
        guard part.number >= 1, part.number <= count, part.size == size(of: part.number) else { return }
        stored[part.number] = part
    }

    /// Forgets the parts that the storage does not have as they were uploaded.
    ///
    /// - Parameter found: What the storage has, in any order.
    mutating func keep(_ found: [StoredAttachmentPart]) {
        let found = Dictionary(found.map { ($0.number, $0) }) { _, last in last }
        stored = stored.filter { number, part in found[number].map(part.isSame) ?? false }
    }
}
