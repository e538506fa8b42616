import PowerSyncSQLite

/// What is left of an id when everything is removed that a collation may ignore.
///
/// Collations take upper and lower case for the same, and some i for j and y, or u for v and w; they ignore accents, blanks at the end,
/// hyphens, zeros before numbers. Two ids of ASCII
/// letters, digits, `-` and `_` with different skeletons are different for each of them; of other ids it is not known.
enum IDSkeleton {
    /// Whether a column takes no two of the ids for the same, whatever its collation.
    ///
    /// - Returns: `false` also when it is not known.
    static func areApart(_ ids: some Collection<ExactText>) -> Bool {
        var skeletons: Set<[UInt8]> = []
        for id in ids {
            guard let skeleton = skeleton(of: id.text), skeletons.insert(skeleton).inserted else { return false }
        }
        return true
    }

    private static func folded(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "j"), UInt8(ascii: "y"): UInt8(ascii: "i")
        case UInt8(ascii: "v"), UInt8(ascii: "w"): UInt8(ascii: "u")
        default: letter
        }
    }

    private static func skeleton(of id: String) -> [UInt8]? {
        var skeleton: [UInt8] = []
        var isInNumber = false
        for byte in id.utf8 {
            switch byte {
            case UInt8(ascii: "1")...UInt8(ascii: "9"):
                skeleton.append(byte)
                isInNumber = true
            case UInt8(ascii: "0"):
                if isInNumber { skeleton.append(byte) }
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
                skeleton.append(folded(byte | 0x20))
                isInNumber = false
            case UInt8(ascii: "-"), UInt8(ascii: "_"): break
            default: return nil
            }
        }
        return skeleton
    }
}
