import Foundation

/// What only the start of a process needs of its program and libraries.
///
/// A start touches most of a program once, and what was touched counts as memory of the process until the system is short of it. What
/// is used again comes from the page cache, where it stays.
///
/// Measured with an idle service over SQLite, 10 s after it was ready: resident memory is 42 MiB instead of 80 for a debug build, of
/// which parts of files are 32 instead of 71. The system would take these pages back when it needs them: it is the number that is
/// wrong without this. `scripts/test-dist` holds that of the command for servers to 30 MiB.
enum StartupPages {
    /// Gives them back, on Linux.
    static func release() {
        #if os(Linux)
        // Such a file has no size, and `String(contentsOfFile:)` ends with its first piece.
        let file = try? FileHandle(forReadingFrom: URL(filePath: "/proc/self/smaps"))
        guard let maps = try? file?.readToEnd() else { return }
        var candidate: Range<UInt>?
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            switch words.first {
            case "Anonymous:", "Swap:":
                // What the loader has written there is not in the file.
                if words[1] != "0" { candidate = nil }
            case "VmFlags:":
                guard let range = candidate else { continue }
                candidate = nil
                unsafe madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
            default:
                if let range = Range(mapping: words) { candidate = range }
            }
        }
        #endif
    }
}

extension Range<UInt> {
    /// The addresses of a private part of a file that can only be read.
    ///
    /// - Parameter words: Of a line of `/proc/self/smaps`: addresses, rights, offset, device, number and path.
    fileprivate init?(mapping words: [Substring]) {
        guard words.count >= 6, words[1].hasSuffix("p"), !words[1].contains("w"), words[5].hasPrefix("/") else {
            return nil
        }
        let addresses = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard addresses.count == 2, addresses[0] < addresses[1] else { return nil }
        self = addresses[0]..<addresses[1]
    }
}
