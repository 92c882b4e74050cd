// SPDX-License-Identifier: Apache-2.0

/// The filters that an engine has designed so far, one for each pair of rates.
final class ResamplerFilters {
    private var filters: [ResamplerFilter] = []

    /// The filter for two rates; nil: they are equal.
    func filter(from inputRate: Int, to outputRate: Int) -> ResamplerFilter? {
        guard inputRate != outputRate else { return nil }
        if let known = filters.first(where: { $0.inputRate == inputRate && $0.outputRate == outputRate }) { return known }
        let new = ResamplerFilter(from: inputRate, to: outputRate)
        // Odd rates of files are not kept: there may be any number of them.
        if filters.count < 16 { filters.append(new) }
        return new
    }
}
