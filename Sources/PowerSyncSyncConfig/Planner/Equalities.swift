/// The expressions that the terms of a variant make equal, in groups: `a.x = b.y AND b.y = c.z` is one group of three.
struct Equalities {
    /// Expressions that are equal.
    struct Group {
        /// Expressions of result sets, in the order of the terms.
        fileprivate(set) var members: [(set: ResultSetID, expression: PlanExpression)] = []
        /// Values of the request.
        fileprivate(set) var requests: [Scalar] = []
        /// The lookups that are known to have the value, with the expression that is the value there.
        var sources: [(lookup: Int, expression: PlanExpression)] = []

        /// The expressions of one result set.
        func expressions(of set: ResultSetID) -> [PlanExpression] {
            members.filter { $0.set == set }.map(\.expression)
        }
    }

    /// The groups, in the order of the terms.
    var groups: [Group] = []

    /// Collects what is equal: in terms, and in the filters of one table.
    init(of terms: Variant) {
        for term in terms {
            switch term {
            case .match(let lhs, let rhs):
                unite(lhs, rhs)
            case .filter(let filter):
                for case .call(.equal, let sides) in filter.expression.conjuncts {
                    // A constant leads nowhere.
                    guard case .row = filter.dependency, sides.allSatisfy(\.readsRow) else { continue }
                    let scalars = sides.map { Scalar(expression: $0, uses: filter.uses, range: filter.range) }
                    unite(scalars[0], scalars[1])
                }
            }
        }
    }

    /// The result sets of all groups.
    var resultSets: Set<ResultSetID> { Set(groups.flatMap { $0.members.map(\.set) }) }

    /// Result sets in an order in which each one comes after those that lead to it from the request.
    ///
    /// - Parameters:
    ///   - sets: The result sets.
    ///   - first: Those that depend on the request only.
    /// - Returns: The result sets; those that the request does not lead to come last.
    func order(of sets: Set<ResultSetID>, after first: Set<ResultSetID>) -> [ResultSetID] {
        var rest = sets.sorted { $0.rawValue < $1.rawValue }
        var ordered = rest.filter(first.contains)
        rest.removeAll(where: first.contains)
        while !rest.isEmpty {
            let known = Set(ordered)
            let next = rest.filter { set in
                groups.contains { group in
                    group.members.contains { $0.set == set }
                        && (!group.requests.isEmpty || group.members.contains { known.contains($0.set) })
                }
            }
            // What nothing leads to is read whole, and may lead to others.
            let found = next.isEmpty ? [rest[0]] : next
            ordered += found
            rest.removeAll(where: found.contains)
        }
        return ordered
    }

    private mutating func unite(_ lhs: Scalar, _ rhs: Scalar) {
        let positions = [lhs, rhs].map { side in groups.firstIndex { $0.contains(side) } }
        let target: Int
        switch (positions[0], positions[1]) {
        case (let first?, let second?) where first != second:
            target = min(first, second)
            let other = groups.remove(at: max(first, second))
            groups[target].members += other.members
            groups[target].requests += other.requests
        case (let known?, _), (nil, let known?):
            target = known
        case (nil, nil):
            target = groups.count
            groups.append(Group())
        }
        groups[target].add(lhs)
        groups[target].add(rhs)
    }
}

extension Equalities.Group {
    fileprivate func contains(_ scalar: Scalar) -> Bool {
        switch scalar.dependency {
        case .row(let set): members.contains { $0.set == set && $0.expression == scalar.expression }
        case .request, nil: requests.contains { $0.expression == scalar.expression }
        }
    }

    fileprivate mutating func add(_ scalar: Scalar) {
        guard !contains(scalar) else { return }
        switch scalar.dependency {
        case .row(let set): members.append((set, scalar.expression))
        case .request, nil: requests.append(scalar)
        }
    }
}

extension PlanExpression {
    /// Whether the expression reads a row of a table or of a function.
    fileprivate var readsRow: Bool {
        contains { part in
            switch part {
            case .column, .output, .metadata: true
            default: false
            }
        }
    }
}
