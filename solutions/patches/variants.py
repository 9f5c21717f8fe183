"""Right answers in other styles. Parsed, never imported; see autograder/exercise/known.py."""
import torch
from torch import nn
from torch.nn import functional as F


class one_convolution:
    """A patch embedding as most libraries have it: a convolution that moves on by a whole patch. With a kernel of ones and zeros it cuts, transposed it pastes."""

    def one_pixel_each(channels, size, like):
        numbers = channels * size * size
        return torch.eye(numbers, dtype=like.dtype, device=like.device).reshape(numbers, channels, size, size)

    def cut(images, size):
        if images.shape[-2] % size != 0 or images.shape[-1] % size != 0:
            raise ValueError("the picture is not a whole number of patches")
        kernel = one_pixel_each(images.shape[1], size, images)
        return F.conv2d(images, kernel, stride=size).flatten(2).transpose(1, 2)

    def paste(patches, size, grid):
        kernel = one_pixel_each(patches.shape[-1] // size**2, size, patches)
        return F.conv_transpose2d(patches.transpose(1, 2).unflatten(2, grid), kernel, stride=size)

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.grid = grid
            self.proj = nn.Conv2d(channels, d_model, kernel_size=size, stride=size)
            self.cls_token = nn.Parameter(torch.zeros(1, 1, d_model))
            self.pos_embed = nn.Parameter(torch.randn(1, 1 + grid[0] * grid[1], d_model) * 0.02)

        def forward(self, images):
            x = self.proj(images)
            positions = stretch(self.pos_embed[0], self.grid, tuple(x.shape[-2:]))
            x = x.flatten(2).transpose(1, 2)
            return torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + positions

    def set_weights(embedding, w_patch, b_patch, class_token, positions):
        with torch.no_grad():
            embedding.proj.weight.copy_(w_patch.T.reshape(embedding.proj.weight.shape))
            embedding.proj.bias.copy_(b_patch)
            embedding.cls_token.copy_(class_token)
            embedding.pos_embed.copy_(positions)


class pixel_unshuffle:
    """PyTorch's own rearrangements, which have the numbers of a patch as channels; two interpolations, along one axis each."""

    def cut(images, size):
        if any(side % size for side in images.shape[-2:]):
            raise ValueError("the picture is not a whole number of patches")
        return F.pixel_unshuffle(images, size).flatten(2).mT

    def paste(patches, size, grid):
        return F.pixel_shuffle(patches.mT.unflatten(2, grid), size)

    def stretch(positions, old_grid, new_grid):
        places = positions[1:].reshape(*old_grid, -1)
        wide = F.interpolate(places.mT, new_grid[1], mode="linear")
        high = F.interpolate(wide.permute(2, 1, 0), new_grid[0], mode="linear")
        return torch.vstack([positions[0], high.permute(2, 0, 1).reshape(-1, positions.shape[1])])


class unfold_and_matrices:
    """`unfold` and `fold` for the patches, a matrix of shares for each axis of the grid."""

    def cut(images, size):
        if not (images.size(2) % size == 0 == images.size(3) % size):
            raise ValueError("the picture is not a whole number of patches")
        return F.unfold(images, size, stride=size).transpose(1, 2)

    def paste(patches, size, grid):
        return F.fold(patches.transpose(1, 2), (grid[0] * size, grid[1] * size), size, stride=size)

    def shares(old, new, like):
        centres = (torch.arange(new, dtype=torch.float64, device=like.device) + 0.5) * old / new - 0.5
        away = centres.clamp(0, old - 1)[:, None] - torch.arange(old, device=like.device)
        return (1 - away.abs()).clamp(min=0).to(like.dtype)

    def stretch(positions, old_grid, new_grid):
        both = torch.kron(shares(old_grid[0], new_grid[0], positions), shares(old_grid[1], new_grid[1], positions))
        return torch.cat([positions[:1], both @ positions[1:]])


class patch_after_patch:
    """Loops over patches and over places."""

    def cut(images, size):
        height, width = images.shape[-2:]
        if height // size * size != height or width // size * size != width:
            raise ValueError("the picture is not a whole number of patches")
        patches = []
        for top in range(0, height, size):
            for left in range(0, width, size):
                patches.append(images[..., top : top + size, left : left + size].flatten(1))
        return torch.stack(patches, dim=1)

    def paste(patches, size, grid):
        rows, columns = grid
        pictures = patches.new_zeros(len(patches), patches.shape[2] // (size * size), rows * size, columns * size)
        for number in range(rows * columns):
            row, column = divmod(number, columns)
            square = patches[:, number].reshape(len(patches), -1, size, size)
            pictures[:, :, row * size : (row + 1) * size, column * size : (column + 1) * size] = square
        return pictures

    def between(place, old, new):
        centre = min(max((place + 0.5) * old / new - 0.5, 0.0), old - 1.0)
        low = min(int(centre), max(old - 2, 0))
        return low, min(low + 1, old - 1), centre - low

    def stretch(positions, old_grid, new_grid):
        rows = [positions[0]]
        at = lambda row, column: positions[1 + row * old_grid[1] + column]
        for i in range(new_grid[0]):
            up, down, below = between(i, old_grid[0], new_grid[0])
            for j in range(new_grid[1]):
                left, right, across = between(j, old_grid[1], new_grid[1])
                upper = (1 - across) * at(up, left) + across * at(up, right)
                lower = (1 - across) * at(down, left) + across * at(down, right)
                rows.append((1 - below) * upper + below * lower)
        return torch.stack(rows)

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size**2, d_model)
            self.class_token = nn.Parameter(torch.zeros(d_model))
            self.positions = nn.ParameterList(torch.randn(d_model) for _ in range(1 + grid[0] * grid[1]))

        def forward(self, images):
            grid = tuple(side // self.size for side in images.shape[-2:])
            places = stretch(torch.stack(list(self.positions)), self.grid, grid)
            tokens = []
            for picture in cut(images, self.size):
                words = [self.class_token, *(self.linear(patch) for patch in picture)]
                tokens.append(torch.stack([word + place for word, place in zip(words, places)]))
            return torch.stack(tokens)

    def set_weights(embedding, w_patch, b_patch, class_token, positions):
        with torch.no_grad():
            embedding.linear.weight.copy_(w_patch.T)
            embedding.linear.bias.copy_(b_patch)
            embedding.class_token.copy_(class_token)
            for mine, row in zip(embedding.positions, positions):
                mine.copy_(row)


class sliding_windows:
    """`Tensor.unfold` shows windows without a copy; the table is sampled at the new centres; positions are an embedding, looked up by number."""

    def cut(images, size):
        if images.shape[2] % size or images.shape[3] % size:
            raise ValueError("the picture is not a whole number of patches")
        windows = images.unfold(2, size, size).unfold(3, size, size)
        return torch.einsum("bcrtij->brtcij", windows).reshape(len(images), -1, images.shape[1] * size * size)

    def paste(patches, size, grid):
        squares = patches.reshape(len(patches), *grid, -1, size, size)
        bands = [torch.cat(row.unbind(1), dim=-1) for row in squares.unbind(1)]
        return torch.cat(bands, dim=-2)

    def stretch(positions, old_grid, new_grid):
        picture = positions[1:].T.reshape(1, -1, *old_grid)
        down, across = ((2 * torch.arange(n, dtype=positions.dtype, device=positions.device) + 1) / n - 1 for n in new_grid)
        where = torch.stack([across.expand(len(down), -1), down[:, None].expand(-1, len(across))], dim=-1)
        found = F.grid_sample(picture, where[None], mode="bilinear", padding_mode="border", align_corners=False)
        return torch.cat([positions[:1], found.squeeze(0).flatten(1).T])

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.linear = nn.Linear(channels * size * size, d_model)
            self.special = nn.Embedding(1, d_model)
            self.places = nn.Embedding(1 + grid[0] * grid[1], d_model)

        def forward(self, images):
            x = self.linear(cut(images, self.size))
            x = torch.cat([self.special.weight.repeat(len(x), 1, 1), x], dim=1)
            grid = images.shape[2] // self.size, images.shape[3] // self.size
            if grid == tuple(self.grid):
                return x + self.places(torch.arange(x.shape[1], device=x.device))
            return x + stretch(self.places.weight, self.grid, grid)

    def set_weights(embedding, w_patch, b_patch, class_token, positions):
        with torch.no_grad():
            embedding.linear.weight.copy_(w_patch.T)
            embedding.linear.bias.copy_(b_patch)
            embedding.special.weight.copy_(class_token)
            embedding.places.weight.copy_(positions)


class by_numbers_of_pixels:
    """The pixels are numbered, the numbers are cut, and the picture is indexed with them; everything that learns lies in one parameter."""

    def numbers_of(size, grid, device):
        pixels = torch.arange(grid[0] * grid[1] * size * size, device=device)
        return pixels.reshape(grid[0], size, grid[1], size).transpose(1, 2).reshape(-1, size * size)

    def cut(images, size):
        batch, channels, height, width = images.shape
        (rows, down), (columns, across) = divmod(height, size), divmod(width, size)
        if down or across:
            raise ValueError("the picture is not a whole number of patches")
        return images.flatten(2)[:, :, numbers_of(size, (rows, columns), images.device)].transpose(1, 2).flatten(2)

    def paste(patches, size, grid):
        batch, count, numbers = patches.shape
        by_channel = patches.reshape(batch, count, -1, size * size).transpose(1, 2).flatten(2)
        back = numbers_of(size, grid, patches.device).flatten().argsort()
        return by_channel[:, :, back].reshape(batch, -1, grid[0] * size, grid[1] * size)

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid, self.numbers = size, grid, channels * size * size
            self.rows = nn.Parameter(torch.randn(self.numbers + 2 + 1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            parts = [self.numbers, 1, 1, len(self.rows) - self.numbers - 2]
            w_patch, b_patch, class_token, positions = self.rows.split(parts)
            embedded = torch.einsum("bpn,nd->bpd", cut(images, self.size), w_patch) + b_patch
            tokens = torch.cat([class_token.expand(len(images), 1, -1), embedded], dim=1)
            tokens += stretch(positions, self.grid, (images.shape[2] // self.size, images.shape[3] // self.size))
            return tokens

    def set_weights(embedding, w_patch, b_patch, class_token, positions):
        with torch.no_grad():
            embedding.rows.copy_(torch.cat([w_patch, b_patch[None], class_token[None], positions]))


class bands_of_patches:
    """The picture is split into bands, and these into patches; positions are added to the class token and to the patches apart."""

    def cut(images, size):
        if images.shape[-1] % size + images.shape[-2] % size > 0:
            raise ValueError("the picture is not a whole number of patches")
        bands = torch.stack(images.split(size, dim=2), dim=1)
        return torch.stack(bands.split(size, dim=-1), dim=2).flatten(1, 2).flatten(2)

    def paste(patches, size, grid):
        squares = patches.reshape(-1, grid[0], grid[1], patches.shape[-1] // size**2, size, size)
        pictures = squares.movedim(3, 1).swapaxes(3, 4)
        return pictures.reshape(*pictures.shape[:2], grid[0] * size, grid[1] * size)

    def stretch(positions, old_grid, new_grid):
        if tuple(old_grid) == tuple(new_grid):
            return positions.clone()
        first, places = positions.tensor_split([1])
        pictures = places.T.contiguous().view(-1, 1, *old_grid)
        found = nn.Upsample(size=tuple(new_grid), mode="bilinear")(pictures)
        return torch.cat((first, found.flatten(1).T))

    class PatchEmbedding(nn.Module):
        def __init__(self, channels, size, d_model, grid):
            super().__init__()
            self.size, self.grid = size, grid
            self.embed = nn.Sequential(nn.Flatten(2), nn.Linear(channels * size * size, d_model))
            self.class_token = nn.Parameter(torch.zeros(d_model))
            self.positions = nn.Parameter(torch.zeros(1 + grid[0] * grid[1], d_model))

        def forward(self, images):
            patches = self.embed(cut(images, self.size))
            positions = stretch(self.positions, self.grid, [side // self.size for side in images.shape[2:]])
            tokens = patches.new_empty(len(patches), 1 + patches.shape[1], patches.shape[2])
            tokens[:, 0] = self.class_token + positions[0]
            tokens[:, 1:] = patches + positions[1:]
            return tokens

    def set_weights(embedding, w_patch, b_patch, class_token, positions):
        embedding.embed[1].weight.data = w_patch.T.clone()
        embedding.embed[1].bias.data = b_patch.clone()
        embedding.class_token.data = class_token.clone()
        embedding.positions.data = positions.clone()
