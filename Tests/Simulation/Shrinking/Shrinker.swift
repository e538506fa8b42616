/// Finds a short list of steps with which a run still fails.
///
/// Halves, then quarters and so on are left out, one after the other; what is not needed for the failure stays out. A run without some
/// steps differs in the order of everything else, too, so that the list is short but not the shortest one.
package struct Shrinker {
    /// How many runs there may be.
    package var budget: Int
    /// Whether a run without some steps fails.
    let fails: (_ without: Set<Int>) throws -> Bool

    /// Creates a shrinker.
    ///
    /// - Parameters:
    ///   - budget: How many runs there may be.
    ///   - fails: Whether a run without some steps, by their numbers, fails.
    package init(budget: Int, fails: @escaping (_ without: Set<Int>) throws -> Bool) {
        (self.budget, self.fails) = (budget, fails)
    }

    /// The numbers of the steps that are needed.
    ///
    /// - Parameter count: How many steps there are.
    /// - Returns: Some of 0 ..< `count`, in order.
    /// - Throws: What `fails` throws.
    package mutating func steps(of count: Int) throws -> [Int] {
        var needed = Array(0..<count)
        var size = max(1, (count + 1) / 2)
        while true {
            var start = 0
            while start < needed.count {
                guard budget > 0 else { return needed }
                budget -= 1
                let tried = Array(needed[..<start] + needed[min(start + size, needed.count)...])
                if try fails(Set(0..<count).subtracting(tried)) { needed = tried } else { start += size }
            }
            guard size > 1 else { return needed }
            size = (size + 1) / 2
        }
    }
}
